// The state of a stream: reset, copy, save, load. saved_state.h describes the saved bytes.
#include "runtime/stream/state.h"
#include "formats/artifact/geometry.h"
#include "longwave/pack.h"
#include "runtime/core/status.h"
#include "runtime/stream/caches.h"
#include "runtime/stream/flush.h"
#include "runtime/stream/saved_state.h"
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace longwave::runtime {

namespace {

Area record(const lw_stream &stream) { return {fb::Space::state, 0, 0, stream.model->plan().state_bytes()}; }
Area cache(const StreamEntry &entry) {
    return {fb::Space::cache, entry.index, 0, entry.entry->cache_bytes()};
}

} // namespace

void begin_fields(lw_stream &stream) {
    const Device &device = stream.device();
    device.clear(*stream.session, record(stream));
    if (!stream.model->plan().state()) return;
    for (const fb::StateField *field : *stream.model->plan().state()) {
        uint64_t bytes;
        if (!field->initial().has_value() || !artifact::field_bytes(*field, &bytes)) continue;
        device.write(*stream.session, {fb::Space::state, 0, field->offset(), bytes},
                     stream.model->view.weights().data + *field->initial());
    }
}

void clear(lw_stream &stream) {
    StreamState &state = *stream.state;
    state = StreamState{};
    stream.unchecked = false;
    memcpy(state.identity, stream.model->identity, sizeof state.identity);
    stream.queue.clear();
    begin_fields(stream);
    for (const StreamEntry &entry : stream.model->streams) {
        if (entry.cached() && has(stream, entry)) stream.device().clear(*stream.session, cache(entry));
        stream.cache_ticks[&entry - stream.model->streams.begin()] = 0; // of a past that is all zeros
    }
}

lw_status not_open(const lw_stream &stream) {
    if (stream.state->life == Life::finished)
        return fail(LW_WRONG_STATE, "the stream is finished: reset, copy or load it first");
    return fail(LW_WRONG_STATE, "a kernel failed before: reset, copy or load the stream first");
}

} // namespace longwave::runtime

lw_status lw_stream_copy(lw_stream *to, const lw_stream *from) {
    if (!to || !from) return fail(LW_INVALID_ARGUMENT, "a stream is NULL");
    if (to->model != from->model) return fail(LW_BAD_STATE, "the streams are of different models");
    if (to == from) return LW_OK;
    (void)end_blocks(*to);
    (void)end_blocks(const_cast<lw_stream &>(*from)); // a stream that fails is copied as such
    if (from->queue.rows() > to->queue.capacity())
        return bad_state("more rows wait than this stream's queue holds");
    const Device &device = to->device();
    *to->state = *from->state;
    to->unchecked = from->unchecked;
    to->queue.clear();
    for (uint32_t i = 0, at = 0; i < from->queue.runs(); at += from->queue.run(i++).rows) {
        const QueuedRows &run = from->queue.run(i);
        const uint32_t position = to->queue.append(run);
        for (uint32_t r = 0; r < run.rows; ++r)
            memcpy(to->queue.row(position + r), from->queue.row(at + r), value_bytes(run));
    }
    device.copy(*to->session, *from->session, record(*to));
    // Caches that are good are taken as they are: with the same entry the same bits follow.
    const StreamEntries &entries = to->model->streams;
    for (uint32_t i = 0; i < entries.size(); ++i) {
        const bool good = has(*to, entries[i]) && has(*from, entries[i]) &&
                          from->cache_ticks[i] == from->state->done / entries[i].block * entries[i].block;
        to->cache_ticks[i] = good ? from->cache_ticks[i] : stale;
        if (good && entries[i].cached()) device.copy(*to->session, *from->session, cache(entries[i]));
    }
    add_to_flush(*to);
    return to->state->life == Life::failed || take_over(*to) ? wait(*to) : LW_DEVICE;
}

// The form in which the artifact of the stream saves states.
static const SavedForm &form_of(const lw_stream &stream) {
    return stream.model->plan().identity() ? fields_form : layout_form;
}

lw_status lw_stream_save(const lw_stream *stream, void *bytes, size_t capacity, size_t *n) {
    if (!stream || !n) return fail(LW_INVALID_ARGUMENT, "stream or n is NULL");
    if (lw_status status = end_blocks(const_cast<lw_stream &>(*stream))) return status;
    if (stream->state->life == Life::failed) return not_open(*stream);
    const SavedForm &form = form_of(*stream);
    const uint64_t size = *n = form.size(*stream);
    if (!bytes) return LW_OK;
    if (capacity < size)
        return fail(LW_TOO_SMALL, {"the state takes ", size, " bytes, given ", uint64_t(capacity)});
    if (lw_status status = wait(*stream)) return status; // of what came before
    return form.save(*stream, static_cast<uint8_t *>(bytes));
}

lw_status lw_stream_load(lw_stream *stream, const void *bytes, size_t n) {
    if (!stream || !bytes) return fail(LW_INVALID_ARGUMENT, "stream or bytes is NULL");
    (void)end_blocks(*stream); // what they bring is lost, and so is a failure
    const lw_status status = form_of(*stream).load(*stream, static_cast<const uint8_t *>(bytes), n);
    if (status == LW_OK) add_to_flush(*stream);
    return status;
}

lw_status lw_stream_load_shape(lw_stream *stream, const void *bytes, size_t n) {
    if (!stream || !bytes) return fail(LW_INVALID_ARGUMENT, "stream or bytes is NULL");
    if (!stream->model->plan().identity())
        return bad_state("of a format before 2.4, which loads only what the same artifact saved");
    (void)end_blocks(*stream);
    const lw_status status = load_of_shape(*stream, static_cast<const uint8_t *>(bytes), n);
    if (status == LW_OK) add_to_flush(*stream);
    return status;
}
