// The state of a stream as bytes: reset, copy, save, load.
#include "runtime/samples.h"
#include "runtime/status.h"
#include "runtime/stream.h"
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace longwave::runtime {

void clear(lw_stream &stream) {
    StreamState &state = *stream.state;
    state = StreamState{};
    memcpy(state.weights, weights_identity(*stream.model), sizeof state.weights);
    state.layout = stream.entry->layout();
    state.state_bytes = stream.entry->state_bytes();
    memset(stream.plan_state, 0, stream.entry->state_bytes());
}

lw_status not_open(const lw_stream &stream) {
    return fail(LW_WRONG_STATE, {stream.state->life == Life::finished ? "the stream is finished: reset, copy or load it first"
                                                                      : "a kernel failed before: reset, copy or load the stream first"});
}

} // namespace longwave::runtime

lw_status lw_stream_copy(lw_stream *to, const lw_stream *from) {
    if (!to || !from) return fail(LW_INVALID_ARGUMENT, {"a stream is NULL"});
    if (to->model != from->model || to->queue_rows != from->queue_rows || to->format != from->format)
        return fail(LW_BAD_STATE, {"the streams differ in model or options"});
    if (to == from) return LW_OK;
    const uint64_t bytes =
        static_cast<uint64_t>(from->queue - reinterpret_cast<const uint8_t *>(from->state)) + uint64_t{from->queue_rows} * from->queue_row_bytes;
    memcpy(to->state, from->state, bytes);
    return LW_OK;
}

// Saved form: StreamState with queue_head 0 · plan state · the rows that wait, each QueuedRow and its values.
lw_status lw_stream_save(const lw_stream *stream, void *bytes, size_t capacity, size_t *n) {
    if (!stream || !n) return fail(LW_INVALID_ARGUMENT, {"stream or n is NULL"});
    const StreamState &state = *stream->state;
    if (state.life == Life::failed) return not_open(*stream);
    uint64_t size = sizeof state + state.state_bytes;
    for (uint32_t i = 0; i < state.queue_count; ++i) {
        QueuedRow header;
        memcpy(&header, slot(*stream, i), sizeof header);
        size += sizeof header + uint64_t{header.width} * 4;
    }
    *n = size;
    if (!bytes) return LW_OK;
    if (capacity < size) return fail(LW_TOO_SMALL, {"the state takes ", size, " bytes, given ", uint64_t(capacity)});
    uint8_t *to = static_cast<uint8_t *>(bytes);
    StreamState saved = state;
    saved.queue_head = 0;
    memcpy(to, &saved, sizeof saved);
    memcpy(to += sizeof saved, stream->plan_state, state.state_bytes);
    to += state.state_bytes;
    for (uint32_t i = 0; i < state.queue_count; ++i) {
        QueuedRow header;
        memcpy(&header, slot(*stream, i), sizeof header);
        const uint64_t row = sizeof header + uint64_t{header.width} * 4;
        memcpy(to, slot(*stream, i), row);
        to += row;
    }
    return LW_OK;
}

// A loaded state is input like any other: ids in it index tables.
static bool tokens_in_range(const lw_stream &stream, const uint8_t *plan_state) {
    const fb::Input &input = input_of(stream);
    if (input.kind() != fb::InputKind::tokens) return true;
    const fb::InputPort &port = input_port(stream);
    for (uint32_t slot = 0; slot < port.place()->slots(); ++slot)
        for (uint32_t row = 0; row < port.rows(); ++row) {
            const uint64_t offset = port.place()->offset() + slot * port.place()->slot_bytes() + uint64_t{row} * port.row_bytes();
            if (first_bad_token(plan_state + offset, 1, input.vocabulary()) == 0) return false;
        }
    return true;
}

static lw_status bad_state(const char *what) { return fail(LW_BAD_STATE, {"saved state: ", what}); }

lw_status lw_stream_load(lw_stream *stream, const void *bytes, size_t n) {
    if (!stream || !bytes) return fail(LW_INVALID_ARGUMENT, {"stream or bytes is NULL"});
    StreamState saved;
    const uint8_t *from = static_cast<const uint8_t *>(bytes), *end = from + n;
    if (n < sizeof saved) return bad_state("too short");
    memcpy(&saved, from, sizeof saved);
    from += sizeof saved;
    // Every position follows from the block counter modulo something, so any value of it stays in bounds; the rest is checked.
    if (memcmp(saved.weights, weights_identity(*stream->model), sizeof saved.weights) != 0) return bad_state("of another model");
    if (saved.layout != stream->entry->layout() || saved.state_bytes != stream->entry->state_bytes()) return bad_state("of another layout");
    if (saved.filled >= stream->entry->block() || saved.life > Life::finished) return bad_state("counters out of range");
    const unsigned __int128 ticks = static_cast<unsigned __int128>(saved.block) * stream->entry->block() + saved.filled;
    if (saved.ticks > ticks || (saved.life == Life::open && saved.ticks != ticks)) return bad_state("counters contradict each other");
    if (saved.queue_head != 0 || saved.queue_count > stream->queue_rows) return bad_state("more rows wait than this stream's queue holds");
    for (uint64_t reserved : saved.reserved)
        if (reserved != 0) return bad_state("reserved fields are set");
    if (static_cast<size_t>(end - from) < saved.state_bytes) return bad_state("too short");
    const uint8_t *plan_state = from, *rows = from + saved.state_bytes;
    if (!tokens_in_range(*stream, plan_state)) return bad_state("a token id is outside the vocabulary");
    from = rows;
    for (uint32_t i = 0; i < saved.queue_count; ++i) {
        QueuedRow header;
        if (static_cast<size_t>(end - from) < sizeof header) return bad_state("too short");
        memcpy(&header, from, sizeof header);
        if (header.index >= outputs(*stream) || header.width != stream->entry->outputs()->Get(header.index)->width() || header.reserved != 0)
            return bad_state("a waiting row fits no output");
        const uint64_t row = sizeof header + uint64_t{header.width} * 4;
        if (static_cast<size_t>(end - from) < row) return bad_state("too short");
        from += row;
    }
    if (from != end) return bad_state("too long");

    *stream->state = saved;
    memcpy(stream->plan_state, plan_state, saved.state_bytes);
    for (uint32_t i = 0; i < saved.queue_count; ++i) {
        QueuedRow header;
        memcpy(&header, rows, sizeof header);
        const uint64_t row = sizeof header + uint64_t{header.width} * 4;
        memcpy(slot(*stream, i), rows, row);
        rows += row;
    }
    return LW_OK;
}
