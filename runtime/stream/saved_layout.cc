// The saved form of artifacts up to format 2.3: StreamState · the fields in order as they lie in
// memory, without the gaps between them · the rows that wait. It loads only into an artifact with
// the same fields.
#include "formats/artifact/geometry.h"
#include "formats/base/same_bytes.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/saved_state.h"
#include <cstring>

namespace longwave::runtime {
namespace {

// Calls visit(area) for each field of the state.
template <class Visit> void each_field(const lw_stream &stream, Visit visit) {
    const lw_state_field *infos = stream.model->state_fields;
    for (uint32_t i = 0; i < artifact::count(stream.model->plan().state()); ++i)
        visit(Area{fb::Space::state, 0, stream.model->plan().state()->Get(i)->offset(), infos[i].bytes});
}

uint64_t layout_size(const lw_stream &stream) {
    return sizeof(StreamState) + stream.model->record_bytes + queue_bytes(stream);
}

lw_status save_layout(const lw_stream &stream, uint8_t *bytes) {
    uint8_t *to = bytes;
    StreamState saved = *stream.state;
    saved.runs = stream.queue.runs();
    saved.rows = stream.queue.rows();
    memcpy(to, &saved, sizeof saved);
    to += sizeof saved;
    each_field(stream, [&](const Area &field) {
        stream.device().read(*stream.session, field, 1, 0, to, 0);
        to += field.bytes;
    });
    write_queue(stream, to);
    const lw_status read = stream.device().wait(*stream.session); // a failure fails the save, not the stream
    if (read != LW_OK) return read;
    saved.checksum = checksum_of(bytes, layout_size(stream), offsetof(StreamState, checksum));
    memcpy(bytes, &saved, sizeof saved);
    return LW_OK;
}

// A loaded state is input like any other: its token ids index tables. `record`: the saved fields.
bool tokens_in_range(const lw_stream &stream, const uint8_t *record) {
    const fb::Input &input = input_of(stream);
    if (input.kind() != fb::InputKind::tokens) return true;
    const InputRing &ring = stream.model->streams.ring();
    bool good = true;
    each_field(stream, [&](const Area &field) { // V12: the ring lies in one of them
        const bool holds = field.offset <= ring.offset && ring.offset < field.offset + field.bytes;
        for (uint64_t tick = 0; holds && good && tick < ring.ticks; ++tick)
            good = first_bad_token(record + (ring.at(tick) - field.offset), 1, input.vocabulary()) == 1;
        record += field.bytes;
    });
    return good;
}

lw_status load_layout(lw_stream &stream, const uint8_t *from, size_t n) {
    StreamState saved;
    const uint8_t *end = from + n;
    if (n < sizeof saved) return bad_state("too short");
    memcpy(&saved, from, sizeof saved);
    const bool unchecked = saved.checksum == 0;
    const uint64_t checksum = unchecked ? 0 : checksum_of(from, n, offsetof(StreamState, checksum));
    from += sizeof saved;
    if (!same_bytes(saved.identity, stream.model->identity, sizeof saved.identity))
        return bad_state(
            "of another model, other weights or another layout; this artifact has a format before "
            "2.4 and loads only what the same artifact saved");
    if (saved.checksum != checksum) return bad_state("damaged: its checksum differs");
    saved.checksum = 0;
    if (const char *fault = counters_fault(stream, saved)) return bad_state(fault);
    if (static_cast<size_t>(end - from) < stream.model->record_bytes) return bad_state("too short");
    if (!tokens_in_range(stream, from)) return bad_state("a token id is outside the vocabulary");
    const uint8_t *rows = from + stream.model->record_bytes;
    if (const char *fault = queue_fault(stream, saved, rows, end)) return bad_state(fault);

    each_field(stream, [&](const Area &field) {
        stream.device().write(*stream.session, field, from);
        from += field.bytes;
    });
    read_queue(stream, saved, rows);
    return resume(stream, saved, unchecked);
}

} // namespace

const SavedForm layout_form = {layout_size, save_layout, load_layout};

} // namespace longwave::runtime
