#include "runtime/stream/blocks.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/caches.h"

namespace longwave::runtime {
namespace {

// A firing of an output in the block that has just run.
struct Firing {
    const StreamEntry &entry;
    const Rows &rows;
    const fb::OutputPort &port;
    uint32_t index;
    uint64_t firing;

    Area row(uint64_t r) const {
        return {port.place()->space(), entry.index, offset_of(*port.place(), firing) + r * port.row_bytes(),
                uint64_t{port.width()} * 4};
    }
};

// Reads n rows of a firing, from its row r on, into the queue. `row` is the number of the first.
// Returns how many values of the last row are not finite.
uint64_t queue_rows(lw_stream &stream, const Firing &firing, uint64_t r, uint64_t row, uint32_t n) {
    Queue &queue = stream.queue;
    const uint32_t width = firing.port.width();
    const uint32_t first = queue.append({row, n, firing.index, width, 0});
    uint64_t newest = 0;
    for (uint32_t done = 0, chunk; done < n; done += chunk) {
        chunk = queue.in_line(first + done, n - done);
        uint8_t *to = queue.row(first + done);
        stream.device().read(*stream.session, firing.row(r + done), chunk, firing.port.row_bytes(), to,
                             queue.stride());
        stream.state->non_finite_outputs += count_non_finite(to, width, chunk, queue.stride(), &newest);
    }
    return newest;
}

void queue_firing(lw_stream &stream, const Firing &firing, Keep keep) {
    StreamState &state = *stream.state;
    const Rows &rows = firing.rows;
    const uint64_t first = firing.firing * rows.rows;
    uint64_t r = keep == Keep::newest ? rows.rows - 1 : 0;
    if (first + r < rows.lead) r = rows.lead - first;
    if (r >= rows.rows) return;
    const uint64_t row = first + r - rows.lead, n = rows.rows - r;
    const uint64_t valid = state.life == Life::finished ? rows.valid(state.ticks) : UINT64_MAX;
    const uint64_t left = row < valid ? valid - row : 0, shown = left < n ? left : n;
    state.rows_dropped += n - shown;
    if (shown == 0) return;
    const uint64_t bit = uint64_t{1} << (firing.index < 63 ? firing.index : 63);
    if (queue_rows(stream, firing, r, row, static_cast<uint32_t>(shown)) > 0) state.poisoned |= bit;
    else state.poisoned &= ~bit;
}

} // namespace

uint64_t ticks_to_block(const lw_stream &stream) {
    const uint64_t block = next_entry(stream).block, pending = stream.state->pending;
    return pending < block ? block - pending : 0;
}

// Counts rows of the start-up and rows after the end of the sequence too: they are few.
static uint64_t rows_of(const lw_stream &stream, const BegunBlock &block) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < outputs(stream); ++i)
        if (block.entry->rows[i].fires(block.block)) rows += block.entry->rows[i].rows;
    return rows;
}

bool room_for_block(const lw_stream &stream, const StreamEntry &entry) {
    uint64_t room = stream.queue.capacity() - stream.queue.rows();
    for (uint32_t b = 0; b < stream.n_begun; ++b) room -= rows_of(stream, stream.begun[b]);
    return room >= stream.rows_per_block ||
           room >= rows_of(stream, {&entry, stream.state->done / entry.block});
}

Extent extent_of_block(const lw_stream &stream) {
    const StreamState &state = *stream.state;
    return {.rows = state.life == Life::finished ? state.ticks : endless};
}

void count_block(lw_stream &stream, const StreamEntry &entry) {
    StreamState &state = *stream.state;
    stream.begun[stream.n_begun++] = {&entry, state.done / entry.block};
    stream.newest_later = false;
    state.done += entry.block;
    state.pending -= state.pending < entry.block ? state.pending : static_cast<uint32_t>(entry.block);
}

lw_status begin_block(lw_stream &stream, const StreamEntry &entry) {
    const Extent extent = extent_of_block(stream);
    const uint64_t block = stream.state->done / entry.block;
    const lw_status status = stream.device().run(*stream.session, entry.index, block, extent, nullptr);
    if (status != LW_OK) return failed_if(stream, status);
    count_block(stream, entry);
    return LW_OK;
}

lw_status end_block(lw_stream &stream, Keep keep) {
    const auto [of, block] = stream.begun[0];
    const StreamEntry &entry = *of;
    stream.begun[0] = stream.begun[1];
    --stream.n_begun;
    stream.newest_later = stream.newest_later && stream.n_begun > 0;
    const bool failed = stream.state->life == Life::failed; // the block before this one
    if (lw_status status = wait(stream); status != LW_OK || failed) return status;
    for (uint32_t i = 0; i < outputs(stream); ++i) {
        const Rows &rows = entry.rows[i];
        if (!rows.fires(block)) continue;
        if (keep != Keep::all) stream.queue.forget(i);
        queue_firing(stream, {entry, rows, *entry.entry->outputs()->Get(i), i, block / rows.period}, keep);
    }
    stream.cache_ticks[&entry - stream.model->streams.begin()] = (block + 1) * entry.block;
    return &entry == stream.own || keep_current(stream) ? LW_OK : LW_DEVICE;
}

lw_status run_block(lw_stream &stream, const StreamEntry &entry, Keep keep) {
    if (lw_status status = begin_block(stream, entry)) return status;
    return end_block(stream, keep);
}

lw_status end_blocks(lw_stream &stream) {
    lw_status first = LW_OK;
    while (stream.n_begun > 0) {
        const lw_status status = end_block(stream, Keep::all);
        if (first == LW_OK) first = status;
    }
    return first;
}

lw_status run_zeros(lw_stream &stream) {
    const StreamEntry &entry = next_entry(stream);
    StreamState &state = *stream.state;
    const InputRing &ring = stream.model->streams.ring();
    if (state.pending < entry.block)
        stream.device().clear(*stream.session, {fb::Space::state, 0, ring.at(state.done + state.pending),
                                                (entry.block - state.pending) * ring.row_bytes});
    return run_block(stream, entry, Keep::all);
}

uint64_t last_tick(const lw_stream &stream) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < outputs(stream); ++i) {
        const Rows &rows = stream.own->rows[i];
        const uint64_t tick = rows.blocks_for(rows.valid(stream.state->ticks)) * stream.own->block;
        last = tick > last ? tick : last;
    }
    return last;
}

} // namespace longwave::runtime
