// Counters and waiting rows of a saved state: the same in both forms.
#include "formats/artifact/hash.h"
#include "runtime/core/status.h"
#include "runtime/stream/caches.h"
#include "runtime/stream/saved_state.h"
#include <cstring>

namespace longwave::runtime {

lw_status bad_state(const char *what) { return fail(LW_BAD_STATE, {"saved state: ", what}); }

uint64_t checksum_of(const uint8_t *saved, uint64_t bytes, uint64_t at) {
    constexpr uint64_t zero = 0;
    artifact::Hasher hasher;
    hasher.update(saved, at);
    hasher.update(&zero, sizeof zero);
    hasher.update(saved + at + sizeof zero, bytes - at - sizeof zero);
    uint8_t hash[artifact::hash_bytes];
    hasher.finish(hash);
    uint64_t checksum;
    memcpy(&checksum, hash, sizeof checksum);
    return checksum > 0 ? checksum : 1; // 0: of a form that had none
}

const char *counters_fault(const lw_stream &stream, const StreamState &saved) {
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
    for (uint64_t reserved : saved.reserved)
        if (reserved != 0) return "reserved fields are set";
    return nullptr;
}

uint64_t queue_bytes(const lw_stream &stream) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stream.queue.runs(); ++i) {
        const QueuedRows &run = stream.queue.run(i);
        bytes += sizeof run + run.rows * value_bytes(run);
    }
    return bytes;
}

void write_queue(const lw_stream &stream, uint8_t *to) {
    const Queue &queue = stream.queue;
    for (uint32_t i = 0, at = 0; i < queue.runs(); ++i) {
        const QueuedRows &run = queue.run(i);
        memcpy(to, &run, sizeof run);
        to += sizeof run;
        for (uint32_t r = 0; r < run.rows; ++r, ++at, to += value_bytes(run))
            memcpy(to, queue.row(at), value_bytes(run));
    }
}

const char *queue_fault(const lw_stream &stream, const StreamState &saved, const uint8_t *from,
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

void read_queue(lw_stream &stream, const StreamState &saved, const uint8_t *from) {
    stream.queue.clear();
    for (uint32_t i = 0; i < saved.runs; ++i) {
        QueuedRows run;
        memcpy(&run, from, sizeof run);
        from += sizeof run;
        const uint32_t position = stream.queue.append(run);
        for (uint32_t r = 0; r < run.rows; ++r, from += value_bytes(run))
            memcpy(stream.queue.row(position + r), from, value_bytes(run));
    }
}

lw_status resume(lw_stream &stream, const StreamState &saved, bool unchecked) {
    *stream.state = saved;
    stream.unchecked = unchecked;
    stream.state->runs = stream.state->rows = 0;
    stream.state->retired = 0;
    memcpy(stream.state->identity, stream.model->identity, sizeof stream.state->identity);
    for (uint32_t i = 0; i < stream.model->streams.size(); ++i) stream.cache_ticks[i] = stale;
    return take_over(stream) ? wait(stream) : LW_DEVICE;
}

} // namespace longwave::runtime
