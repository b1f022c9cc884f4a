// The saved form of artifacts of format 2.4 and later: fields by name (saved_state.h).
//
// A saved state may come from an artifact with other targets, algorithms or blocks. So a saved
// history may have more or fewer rows than this artifact keeps; it must have those that the ops
// need. Rows that are missing beyond these are zeros: taps of zero meet them. A field that this
// artifact does not have is skipped: the same model with other blocks does not need it.
#include "formats/artifact/geometry.h"
#include "formats/artifact/text.h"
#include "formats/base/same_bytes.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/saved_state.h"
#include "runtime/stream/scalars.h"
#include "runtime/stream/state.h"
#include <cstring>

namespace longwave::runtime {
namespace {

uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// ---- fields and rings ----

bool is_history(const fb::StateField &field) { return field.kind() == fb::StateKind::history; }
bool is_saved(const fb::StateField &field) { return !is_history(field) || field.keeps() > 0; }
// A scalar that the saved state lacks has its initial value.
bool is_needed(const lw_stream &stream, const fb::StateField &field) {
    return is_history(field) ? field.needs() > 0 : !scalar_in(*stream.model, field);
}

uint64_t row_bytes(const fb::StateField &field) {
    return artifact::row_elements(field) * uint64_t{bytes_of(artifact::elem_of(field.elem()))};
}

SavedField describe(const fb::StateField &field) {
    SavedField saved{};
    (void)artifact::field_bytes(field, &saved.bytes);                 // V15
    saved.layer_bytes = static_cast<uint16_t>(field.layer()->size()); // V16: at most 256
    saved.name_bytes = static_cast<uint16_t>(field.name()->size());
    saved.rank = static_cast<uint16_t>(field.dims()->size());
    saved.kind = field.kind();
    saved.elem = field.elem();
    for (uint32_t i = 0; i < saved.rank; ++i) saved.dims[i] = field.dims()->Get(i);
    if (is_history(field)) {
        saved.dims[0] = field.keeps();
        saved.dims[1] = artifact::row_elements(field);
        saved.bytes = field.keeps() * row_bytes(field);
    }
    return saved;
}

uint64_t text_bytes(const SavedField &field) {
    return padded(uint64_t{field.layer_bytes} + field.name_bytes);
}

// Rows of a ring in the state.
struct Ring {
    uint64_t offset, rows, row_bytes;

    // Calls visit(area, bytes before it) for `n` rows from row `first` on: at most two areas.
    template <class Visit> void each_area(uint64_t first, uint64_t n, Visit visit) const {
        first %= rows;
        const uint64_t to_end = n < rows - first ? n : rows - first;
        if (n == 0) return;
        visit(Area{fb::Space::state, 0, offset + first * row_bytes, to_end * row_bytes}, uint64_t{0});
        if (n > to_end)
            visit(Area{fb::Space::state, 0, offset, (n - to_end) * row_bytes}, to_end * row_bytes);
    }
};

// The slot of the oldest of the newest `n` rows of a history, after `done` ticks.
uint64_t oldest_slot(const fb::StateField &field, uint64_t done, uint64_t n) {
    const uint64_t ring = artifact::ring_rows(field), num = field.clock_num(), den = field.clock_den();
    const uint64_t end = (done / den % ring) * (num % ring) + done % den * num / den;
    return (end % ring + ring - n) % ring; // V15: n is at most the ring's rows
}

// Calls visit(area, bytes before it) for the newest `n` rows of a history that lies row by row, oldest
// first.
template <class Visit> void newest_rows(const fb::StateField &field, uint64_t done, uint64_t n, Visit visit) {
    const Ring ring{field.offset(), artifact::ring_rows(field), row_bytes(field)};
    ring.each_area(oldest_slot(field, done, n), n, visit);
}

// A history that lies channel by channel: element `channel` in `slot`.
struct Channels {
    uint64_t offset, ring, slots;
    uint32_t channels, element;

    explicit Channels(const fb::StateField &field)
        : offset(field.offset()), ring(field.ring()), slots(field.dims()->Get(1)),
          channels(field.dims()->Get(0)), element(bytes_of(artifact::elem_of(field.elem()))) {}
    Area area(uint32_t channel, uint64_t slot) const {
        return {fb::Space::state, 0, offset + (channel * slots + slot) * element, element};
    }
};

// `to`: rows of zeros.
void read_channels(const lw_stream &stream, const fb::StateField &field, uint64_t done, uint8_t *to) {
    const Channels from(field);
    const uint64_t n = field.keeps(), first = oldest_slot(field, done, n),
                   to_end = n < from.ring - first ? n : from.ring - first;
    for (uint32_t c = 0; c < from.channels; ++c) {
        const auto rows = [&](uint64_t slot, uint64_t count, uint64_t before) {
            if (count == 0) return;
            stream.device().read(*stream.session, from.area(c, slot), count, from.element,
                                 to + before * row_bytes(field) + uint64_t{c} * from.element,
                                 row_bytes(field));
        };
        rows(first, to_end, 0);
        rows(0, n - to_end, to_end);
    }
}

// The newest `n` rows, and those that stand twice.
void write_channels(const lw_stream &stream, const fb::StateField &field, uint64_t done, uint64_t n,
                    const uint8_t *rows) {
    const Channels to(field);
    const uint64_t first = oldest_slot(field, done, n);
    for (uint64_t row = 0; row < n; ++row)
        for (uint32_t c = 0; c < to.channels; ++c) {
            const uint64_t slot = (first + row) % to.ring;
            const uint8_t *const value = rows + row * row_bytes(field) + uint64_t{c} * to.element;
            stream.device().write(*stream.session, to.area(c, slot), value);
            if (to.ring + slot < to.slots)
                stream.device().write(*stream.session, to.area(c, to.ring + slot), value);
        }
}

template <class Visit> void pending_rows(const lw_stream &stream, const StreamState &state, Visit visit) {
    const InputRing &input = stream.model->streams.ring();
    Ring{input.offset, input.ticks, input.row_bytes}.each_area(state.done, state.pending, visit);
}

uint64_t pending_bytes(const lw_stream &stream, const StreamState &state) {
    return padded(state.pending * stream.model->streams.ring().row_bytes);
}

// ---- saving ----

uint64_t fields_size(const lw_stream &stream) {
    uint64_t bytes = sizeof(SavedState) + pending_bytes(stream, *stream.state) + queue_bytes(stream);
    for (const fb::StateField *field : *stream.model->plan().state()) {
        if (!is_saved(*field)) continue;
        const SavedField saved = describe(*field);
        bytes += sizeof saved + text_bytes(saved) + padded(saved.bytes);
    }
    return bytes;
}

// Appends to memory that holds zeros.
struct Writer {
    const lw_stream &stream;
    uint8_t *to;

    void put(const void *bytes, uint64_t n) {
        memcpy(to, bytes, n);
        to += n;
    }
    // A visitor for the areas of a ring.
    auto reader() {
        return [this](const Area &area, uint64_t before) {
            stream.device().read(*stream.session, area, 1, 0, to + before, 0);
        };
    }
    void field(const fb::StateField &field) {
        const SavedField saved = describe(field);
        put(&saved, sizeof saved);
        memcpy(to, field.layer()->c_str(), saved.layer_bytes);
        memcpy(to + saved.layer_bytes, field.name()->c_str(), saved.name_bytes);
        to += text_bytes(saved);
        if (artifact::lies_by_channel(field)) read_channels(stream, field, stream.state->done, to);
        else if (is_history(field)) newest_rows(field, stream.state->done, field.keeps(), reader());
        else reader()({fb::Space::state, 0, field.offset(), saved.bytes}, 0);
        to += padded(saved.bytes);
    }
};

SavedState head_of(const lw_stream &stream) {
    const fb::StateIdentity &identity = *stream.model->plan().identity();
    const StreamState &state = *stream.state;
    SavedState head{};
    memcpy(head.magic, saved_magic, sizeof head.magic);
    head.version = saved_version;
    head.schema = identity.schema();
    head.bytes = fields_size(stream);
    memcpy(head.model, identity.model()->data(), sizeof head.model); // V6: 32 bytes
    memcpy(head.weights, identity.weights()->data(), sizeof head.weights);
    head.ticks = state.ticks;
    head.done = state.done;
    head.pending = state.pending;
    head.life = state.life;
    head.rows_dropped = state.rows_dropped;
    head.non_finite = state.non_finite;
    head.non_finite_outputs = state.non_finite_outputs;
    head.poisoned = state.poisoned;
    head.runs = stream.queue.runs();
    head.rows = stream.queue.rows();
    for (const fb::StateField *field : *stream.model->plan().state()) head.fields += is_saved(*field);
    return head;
}

lw_status save_fields(const lw_stream &stream, uint8_t *bytes) {
    SavedState head = head_of(stream);
    memset(bytes, 0, head.bytes);
    Writer writer{stream, bytes + sizeof head};
    for (const fb::StateField *field : *stream.model->plan().state())
        if (is_saved(*field)) writer.field(*field);
    pending_rows(stream, *stream.state, writer.reader());
    writer.to += pending_bytes(stream, *stream.state);
    write_queue(stream, writer.to);
    memcpy(bytes, &head, sizeof head);
    head.checksum = checksum_of(bytes, head.bytes, offsetof(SavedState, checksum));
    memcpy(bytes, &head, sizeof head);
    return stream.device().wait(*stream.session); // a failure fails the save, not the stream
}

// ---- checking ----

StreamState state_of(const SavedState &head) {
    StreamState state{};
    state.ticks = head.ticks;
    state.done = head.done;
    state.pending = head.pending;
    state.life = head.life;
    state.rows_dropped = head.rows_dropped;
    state.non_finite = head.non_finite;
    state.non_finite_outputs = head.non_finite_outputs;
    state.poisoned = head.poisoned;
    state.runs = head.runs;
    state.rows = head.rows;
    return state;
}

enum class Weights : uint8_t { same, any };

lw_status check_head(const lw_stream &stream, const SavedState &head, const uint8_t *bytes, size_t n,
                     Weights weights) {
    const fb::StateIdentity &identity = *stream.model->plan().identity();
    if (!same_bytes(head.magic, saved_magic, sizeof head.magic))
        return bad_state(
            "these bytes are not a saved state, or an artifact of a format before 2.4 saved them; "
            "only that artifact loads them");
    if (head.version != saved_version)
        return fail(LW_BAD_STATE, {"saved state: form ", head.version, "; this library reads form ",
                                   saved_version, ": use the version of Longwave that saved it"});
    if (head.bytes != n) return bad_state(n < head.bytes ? "too short" : "too long");
    if (head.checksum != checksum_of(bytes, n, offsetof(SavedState, checksum)))
        return bad_state("damaged: its checksum differs");
    if (head.schema != identity.schema())
        return fail(LW_BAD_STATE, {"saved state: state schema ", head.schema, ", and the model has ",
                                   uint64_t{identity.schema()},
                                   ": compile the model with the version of Longwave that it came from"});
    if (!same_bytes(head.model, identity.model()->data(), sizeof head.model))
        return bad_state("of another model: inputs, layers or outputs differ; load it into the model that "
                         "saved it");
    if (weights == Weights::same &&
        !same_bytes(head.weights, identity.weights()->data(), sizeof head.weights))
        return bad_state("of other weights: compile the model from the same weights with the same --weights");
    return head.reserved == 0 ? LW_OK : bad_state("reserved fields are set");
}

// A field in the saved bytes.
struct Found {
    SavedField field;
    const uint8_t *text, *values;
};

// Reads the field at `*from` and moves behind it. Null, or what is wrong.
const char *next_field(const uint8_t **from, const uint8_t *end, Found *found) {
    SavedField &field = found->field;
    if (static_cast<size_t>(end - *from) < sizeof field) return "too short";
    memcpy(&field, *from, sizeof field);
    found->text = *from + sizeof field;
    const uint64_t left = static_cast<size_t>(end - found->text), text = text_bytes(field);
    if (left < text || left - text < field.bytes || left - text < padded(field.bytes)) return "too short";
    found->values = found->text + text;
    *from = found->values + padded(field.bytes);
    return nullptr;
}

int compare(const fb::StateField &field, const Found &found) {
    const int layers = artifact::compare_texts(field.layer()->c_str(), field.layer()->size(), found.text,
                                               found.field.layer_bytes);
    return layers ? layers
                  : artifact::compare_texts(field.name()->c_str(), field.name()->size(),
                                            found.text + found.field.layer_bytes, found.field.name_bytes);
}

lw_status bad_field(const fb::StateField &field, const char *what) {
    return fail(LW_BAD_STATE, {"saved state: ", what, ": layer ", field.layer()->c_str(), ", field ",
                               field.name()->c_str()});
}

// Token ids index tables. `rows`: of the input.
bool good_tokens(const lw_stream &stream, const uint8_t *rows, uint64_t bytes) {
    const fb::Input &input = input_of(stream);
    const uint64_t ids = bytes / sizeof(int32_t);
    return input.kind() != fb::InputKind::tokens || first_bad_token(rows, ids, input.vocabulary()) == ids;
}

bool good_scalar(const lw_stream &stream, const fb::StateField &field, const uint8_t *values) {
    const fb::HostScalar *const scalar = scalar_in(*stream.model, field);
    float numbers[artifact::host_scalar_numbers];
    if (!scalar) return true;
    memcpy(numbers, values, sizeof numbers);
    for (const float number : numbers)
        if (!in_range(*scalar, number)) return false;
    return true;
}

bool holds_input(const lw_stream &stream, const fb::StateField &field) {
    const uint64_t ring = stream.model->streams.ring().offset; // V12: it lies in one field
    uint64_t bytes;
    return artifact::field_bytes(field, &bytes) && field.offset() <= ring && ring < field.offset() + bytes;
}

lw_status check_field(const lw_stream &stream, const fb::StateField &field, const Found &found) {
    SavedField expected = describe(field);
    const SavedField &saved = found.field;
    bool rows_fit = true;
    if (is_history(field)) { // of any number of rows
        expected.dims[0] = saved.dims[0];
        expected.bytes = saved.bytes;
        rows_fit = saved.bytes % row_bytes(field) == 0 && saved.bytes / row_bytes(field) == saved.dims[0];
    }
    if (!rows_fit || !same_bytes(&expected, &saved, sizeof saved))
        return bad_field(field, "a field has another type or shape");
    if (!is_history(field))
        return good_scalar(stream, field, found.values)
                   ? LW_OK
                   : bad_field(field, "a scalar is outside the range that the model gives it");
    if (saved.dims[0] < field.needs())
        return bad_field(field, "a history has too few rows; compile with the same --blocks or --window");
    if (holds_input(stream, field) && !good_tokens(stream, found.values, saved.bytes))
        return bad_state("a token id is outside the vocabulary");
    return LW_OK;
}

// Walks through the saved fields and those of the plan, which are sorted alike, and calls
// visit(field, found) for each pair. *from: behind the header; afterwards behind the fields.
template <class Visit> lw_status each_pair(const lw_stream &stream, uint32_t n, const uint8_t **from,
                                           const uint8_t *end, Visit visit) {
    const auto &fields = *stream.model->plan().state();
    uint32_t next = 0;
    const auto lacks = [&] { return bad_field(*fields[next], "a field is missing"); };
    for (uint32_t i = 0; i < n; ++i) {
        Found found;
        if (const char *fault = next_field(from, end, &found)) return bad_state(fault);
        for (; next < fields.size() && compare(*fields[next], found) < 0; ++next)
            if (is_needed(stream, *fields[next])) return lacks();
        if (next == fields.size() || compare(*fields[next], found) != 0) continue;
        if (lw_status status = visit(*fields[next++], found)) return status;
    }
    for (; next < fields.size(); ++next)
        if (is_needed(stream, *fields[next])) return lacks();
    return LW_OK;
}

// ---- loading ----

lw_status load(lw_stream &stream, const uint8_t *bytes, size_t n, Weights weights) {
    SavedState head;
    if (n < sizeof head) return bad_state("too short");
    memcpy(&head, bytes, sizeof head);
    if (lw_status status = check_head(stream, head, bytes, n, weights)) return status;
    const StreamState saved = state_of(head);
    if (const char *fault = counters_fault(stream, saved)) return bad_state(fault);
    const uint8_t *const fields = bytes + sizeof head, *const end = bytes + n, *pending = fields;
    const auto check = [&](const fb::StateField &field, const Found &found) {
        return check_field(stream, field, found);
    };
    if (lw_status status = each_pair(stream, head.fields, &pending, end, check)) return status;
    if (static_cast<size_t>(end - pending) < pending_bytes(stream, saved)) return bad_state("too short");
    if (!good_tokens(stream, pending, saved.pending * stream.model->streams.ring().row_bytes))
        return bad_state("a token id is outside the vocabulary");
    const uint8_t *rows = pending + pending_bytes(stream, saved);
    if (const char *fault = queue_fault(stream, saved, rows, end)) return bad_state(fault);

    const Device &device = stream.device();
    begin_fields(stream);
    const auto write_from = [&](const uint8_t *values) {
        return [&stream, &device, values](const Area &area, uint64_t before) {
            device.write(*stream.session, area, values + before);
        };
    };
    const uint8_t *from = fields;
    (void)each_pair(stream, head.fields, &from, end, [&](const fb::StateField &field, const Found &found) {
        const auto write = write_from(found.values);
        if (!is_history(field)) {
            write({fb::Space::state, 0, field.offset(), found.field.bytes}, 0);
            return LW_OK;
        }
        const uint64_t there = found.field.dims[0], kept = there < field.keeps() ? there : field.keeps();
        const uint8_t *const rows = found.values + (there - kept) * row_bytes(field);
        if (artifact::lies_by_channel(field)) write_channels(stream, field, saved.done, kept, rows);
        else newest_rows(field, saved.done, kept, write_from(rows));
        return LW_OK;
    });
    pending_rows(stream, saved, write_from(pending));
    read_queue(stream, saved, rows);
    return resume(stream, saved, false);
}

lw_status load_fields(lw_stream &stream, const uint8_t *bytes, size_t n) {
    return load(stream, bytes, n, Weights::same);
}

} // namespace

lw_status load_of_shape(lw_stream &stream, const uint8_t *bytes, size_t n) {
    return load(stream, bytes, n, Weights::any);
}

const SavedForm fields_form = {fields_size, save_fields, load_fields};

} // namespace longwave::runtime
