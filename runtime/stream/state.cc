// The state of a stream as bytes: reset, copy, save, load.
//
// Saved form: StreamState · the fields of the record in order, without the gaps between them · the rows that
// wait, each QueuedRows and the values of its rows. Pending input lies in the input ring, which is a field like any
// other.
#include "formats/artifact/geometry.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/caches.h"
#include "runtime/stream/state.h"
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace longwave::runtime {

namespace {

Area record(const lw_stream &stream) { return {fb::Space::state, 0, 0, stream.model->plan().state_bytes()}; }
Area cache(const StreamEntry &entry) {
    return {fb::Space::cache, entry.index, 0, entry.entry->cache_bytes()};
}

// Calls visit(area) for each field of the record.
template <class Visit> void fields(const lw_stream &stream, Visit visit) {
    const lw_state_field *infos = stream.model->state_fields;
    for (uint32_t i = 0; i < artifact::count(stream.model->plan().state()); ++i)
        visit(Area{fb::Space::state, 0, stream.model->plan().state()->Get(i)->offset(), infos[i].bytes});
}

uint64_t value_bytes(const QueuedRows &run) { return uint64_t{run.width} * 4; } // of a row

} // namespace

void clear(lw_stream &stream) {
    StreamState &state = *stream.state;
    state = StreamState{};
    memcpy(state.identity, stream.model->identity, sizeof state.identity);
    stream.queue.clear();
    stream.device().clear(*stream.session, record(stream));
    for (const StreamEntry &entry : stream.model->streams) {
        if (entry.cached()) stream.device().clear(*stream.session, cache(entry));
        stream.cache_ticks[&entry - stream.model->streams.begin()] = 0; // of a past that is all zeros
    }
}

lw_status not_open(const lw_stream &stream) {
    if (stream.state->life == Life::finished)
        return fail(LW_WRONG_STATE, "the stream is finished: reset, copy or load it first");
    return fail(LW_WRONG_STATE, "a kernel failed before: reset, copy or load the stream first");
}

} // namespace longwave::runtime

static lw_status bad_state(const char *what) { return fail(LW_BAD_STATE, {"saved state: ", what}); }

lw_status lw_stream_copy(lw_stream *to, const lw_stream *from) {
    if (!to || !from) return fail(LW_INVALID_ARGUMENT, "a stream is NULL");
    if (to->model != from->model) return fail(LW_BAD_STATE, "the streams are of different models");
    if (from->queue.rows() > to->queue.capacity())
        return bad_state("more rows wait than this stream's queue holds");
    if (to == from) return LW_OK;
    const Device &device = to->device();
    *to->state = *from->state;
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
        const bool good = from->cache_ticks[i] == from->state->done / entries[i].block * entries[i].block;
        to->cache_ticks[i] = good ? from->cache_ticks[i] : stale;
        if (good && entries[i].cached()) device.copy(*to->session, *from->session, cache(entries[i]));
    }
    return to->state->life == Life::failed || take_over(*to) ? wait(*to) : LW_DEVICE;
}

lw_status lw_stream_save(const lw_stream *stream, void *bytes, size_t capacity, size_t *n) {
    if (!stream || !n) return fail(LW_INVALID_ARGUMENT, "stream or n is NULL");
    const StreamState &state = *stream->state;
    if (state.life == Life::failed) return not_open(*stream);
    uint64_t size = sizeof state + stream->model->record_bytes;
    const Queue &queue = stream->queue;
    for (uint32_t i = 0; i < queue.runs(); ++i)
        size += sizeof(QueuedRows) + queue.run(i).rows * value_bytes(queue.run(i));
    *n = size;
    if (!bytes) return LW_OK;
    if (capacity < size)
        return fail(LW_TOO_SMALL, {"the state takes ", size, " bytes, given ", uint64_t(capacity)});
    uint8_t *to = static_cast<uint8_t *>(bytes);
    StreamState saved = state;
    saved.runs = queue.runs();
    saved.rows = queue.rows();
    memcpy(to, &saved, sizeof saved);
    to += sizeof saved;
    fields(*stream, [&](const Area &field) {
        stream->device().read(*stream->session, field, 1, 0, to, 0);
        to += field.bytes;
    });
    if (lw_status status = wait(const_cast<lw_stream &>(*stream))) return status;
    for (uint32_t i = 0, at = 0; i < queue.runs(); ++i) {
        const QueuedRows &run = queue.run(i);
        memcpy(to, &run, sizeof run);
        to += sizeof run;
        for (uint32_t r = 0; r < run.rows; ++r, ++at, to += value_bytes(run))
            memcpy(to, queue.row(at), value_bytes(run));
    }
    return LW_OK;
}

// A loaded state is input like any other: ids in it index tables. `record`: the saved fields.
static bool tokens_in_range(const lw_stream &stream, const uint8_t *record) {
    const fb::Input &input = input_of(stream);
    if (input.kind() != fb::InputKind::tokens) return true;
    const InputRing &ring = stream.model->streams.ring();
    bool good = true;
    fields(stream, [&](const Area &field) { // V12: the ring lies in one of them
        const bool holds = field.offset <= ring.offset && ring.offset < field.offset + field.bytes;
        for (uint64_t tick = 0; holds && good && tick < ring.ticks; ++tick)
            good = first_bad_token(record + (ring.at(tick) - field.offset), 1, input.vocabulary()) == 1;
        record += field.bytes;
    });
    return good;
}

// Null, or what is wrong with the counters. Every position follows from `done` modulo something, so any value
// of it stays in bounds; but arithmetic on ticks and rows must not run over.
static const char *counters_fault(const lw_stream &stream, const StreamState &saved) {
    constexpr uint64_t most = uint64_t{1} << 62;
    const StreamEntries &entries = stream.model->streams;
    if (saved.life > Life::finished || saved.done > most || saved.ticks > most)
        return "counters out of range";
    if (saved.done % entries.least_block() != 0) return "it ends within a block";
    if (saved.pending > entries.largest_block()) return "more input waits than a block takes";
    for (uint32_t i = 0; i < outputs(stream); ++i)
        if (!stream.own->rows[i].countable(saved.done) || !stream.own->rows[i].countable(saved.ticks))
            return "counters out of range";
    const bool whole = saved.ticks == saved.done + saved.pending;
    const bool beyond_the_end =
        saved.life == Life::finished && saved.pending == 0 && saved.ticks < saved.done;
    if (!whole && !beyond_the_end) return "counters contradict each other";
    if (saved.rows > stream.queue.capacity()) return "more rows wait than this stream's queue holds";
    if (saved.logit_margin > uint64_t{1} << 31) return "counters out of range";
    for (uint64_t reserved : saved.reserved)
        if (reserved != 0) return "reserved fields are set";
    return nullptr;
}

// Null, or what is wrong with the rows that wait; they must end with the bytes.
static const char *rows_fault(const lw_stream &stream, const StreamState &saved, const uint8_t *from,
                              const uint8_t *end) {
    constexpr uint64_t most = uint64_t{1} << 62;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < saved.runs; ++i) {
        QueuedRows run;
        if (static_cast<size_t>(end - from) < sizeof run) return "too short";
        memcpy(&run, from, sizeof run);
        from += sizeof run;
        if (run.output >= outputs(stream) ||
            run.width != stream.own->entry->outputs()->Get(run.output)->width() || run.reserved != 0 ||
            run.row > most || run.rows == 0 || run.rows > saved.rows - rows)
            return "a waiting row fits no output";
        const uint64_t bytes = run.rows * value_bytes(run); // no more than the queue holds
        if (static_cast<size_t>(end - from) < bytes) return "too short";
        from += bytes;
        rows += run.rows;
    }
    if (rows != saved.rows) return "a waiting row fits no output";
    return from == end ? nullptr : "too long";
}

lw_status lw_stream_load(lw_stream *stream, const void *bytes, size_t n) {
    if (!stream || !bytes) return fail(LW_INVALID_ARGUMENT, "stream or bytes is NULL");
    StreamState saved;
    const uint8_t *from = static_cast<const uint8_t *>(bytes), *end = from + n;
    if (n < sizeof saved) return bad_state("too short");
    memcpy(&saved, from, sizeof saved);
    from += sizeof saved;
    if (memcmp(saved.identity, stream->model->identity, sizeof saved.identity) != 0)
        return bad_state("of another model, other weights or another layout");
    if (const char *fault = counters_fault(*stream, saved)) return bad_state(fault);
    if (static_cast<size_t>(end - from) < stream->model->record_bytes) return bad_state("too short");
    if (!tokens_in_range(*stream, from)) return bad_state("a token id is outside the vocabulary");
    const uint8_t *rows = from + stream->model->record_bytes;
    if (const char *fault = rows_fault(*stream, saved, rows, end)) return bad_state(fault);

    *stream->state = saved;
    stream->state->runs = stream->state->rows = 0;
    fields(*stream, [&](const Area &field) {
        stream->device().write(*stream->session, field, from);
        from += field.bytes;
    });
    stream->queue.clear();
    for (uint32_t i = 0; i < saved.runs; ++i) {
        QueuedRows run;
        memcpy(&run, rows, sizeof run);
        rows += sizeof run;
        const uint32_t position = stream->queue.append(run);
        for (uint32_t r = 0; r < run.rows; ++r, rows += value_bytes(run))
            memcpy(stream->queue.row(position + r), rows, value_bytes(run));
    }
    for (uint32_t i = 0; i < stream->model->streams.size(); ++i) stream->cache_ticks[i] = stale;
    return take_over(*stream) ? wait(*stream) : LW_DEVICE;
}
