// Blocks: what runs, and what it leaves in the queue.
#include "formats/artifact/geometry.h"
#include "runtime/stream/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/stream.h"

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

// Reads n rows of a firing, from its row r on, into the queue; `row` is the number of the first. Returns how
// many values of the last are not finite.
uint64_t queue_rows(lw_stream &stream, const Firing &firing, uint64_t r, uint64_t row, uint32_t n) {
    Queue &queue = stream.queue;
    const uint32_t width = firing.port.width();
    const uint32_t first = queue.append({row, n, firing.index, width, 0});
    uint64_t newest = 0;
    for (uint32_t done = 0, piece; done < n; done += piece) {
        piece = queue.in_line(first + done, n - done);
        uint8_t *to = queue.row(first + done);
        stream.device().read(*stream.session, firing.row(r + done), piece, firing.port.row_bytes(), to,
                             queue.stride());
        stream.state->non_finite_outputs += count_non_finite(to, width, piece, queue.stride(), &newest);
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

// Rows of the start-up and beyond the end of the sequence do not count, but are few.
bool room_for_block(const lw_stream &stream, const StreamEntry &entry) {
    const uint32_t room = stream.queue.capacity() - stream.queue.rows();
    if (room >= stream.rows_per_block) return true;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < outputs(stream); ++i)
        if (entry.rows[i].fires(stream.state->done / entry.block)) rows += entry.rows[i].rows;
    return rows <= room;
}

lw_status failed_if(lw_stream &stream, lw_status status) {
    if (status != LW_OK) stream.state->life = Life::failed;
    return status;
}

namespace {

uint32_t margin_for(const lw_stream &stream, const StreamEntry &entry) {
    return entry.margins ? stream.margin : 0;
}

lw_status begin_block(const lw_stream &stream, const StreamEntry &entry) {
    const Extent extent{0, nullptr, margin_for(stream, entry)};
    return stream.device().run(*stream.session, entry.index, stream.state->done / entry.block, extent,
                               nullptr);
}

lw_status end_block(lw_stream &stream, const StreamEntry &entry, Keep keep) {
    StreamState &state = *stream.state;
    const uint64_t block = state.done / entry.block;
    state.margin = margin_for(stream, entry);
    if (lw_status status = settle(stream)) return status;
    for (uint32_t i = 0; i < outputs(stream); ++i) {
        const Rows &rows = entry.rows[i];
        if (!rows.fires(block)) continue;
        if (keep != Keep::all) stream.queue.forget(i);
        queue_firing(stream, {entry, rows, *entry.entry->outputs()->Get(i), i, block / rows.period}, keep);
    }
    stream.cache_ticks[&entry - stream.model->streams.begin()] = state.done + entry.block;
    state.done += entry.block;
    state.pending -= state.pending < entry.block ? state.pending : static_cast<uint32_t>(entry.block);
    return &entry == stream.own || keep_current(stream) ? LW_OK : LW_DEVICE;
}

} // namespace

lw_status settle(const lw_stream &stream) {
    return failed_if(const_cast<lw_stream &>(stream), stream.device().settle(*stream.session));
}

lw_status run_block(lw_stream &stream, const StreamEntry &entry, Keep keep) {
    if (lw_status status = failed_if(stream, begin_block(stream, entry))) return status;
    return end_block(stream, entry, keep);
}

lw_status run_waiting(lw_stream &stream, const StreamEntry &entry) {
    if (!runs_together(stream)) return run_block(stream, entry, Keep::all);
    const lw_status status = lw_device_flush(const_cast<lw_device *>(stream.model->asked));
    return stream.state->life == Life::failed ? status : LW_OK; // else it is another's
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

using namespace longwave::runtime;

// All streams put down a block each before the first of them is waited for.
lw_status lw_device_flush(lw_device *device) {
    lw_status first = LW_OK;
    for (bool any = device != nullptr; any;) {
        any = false;
        for (lw_stream *stream = device->streams; stream; stream = stream->next) {
            const StreamEntry &entry = next_entry(*stream);
            stream->begun = nullptr;
            if (stream->state->life != Life::open || stream->state->pending < entry.block ||
                !room_for_block(*stream, entry))
                continue;
            (void)begin_block(*stream, entry); // device.h: settle tells
            stream->begun = &entry;
            any = true;
        }
        for (lw_stream *stream = device->streams; stream; stream = stream->next) {
            if (!stream->begun) continue;
            const lw_status status = end_block(*stream, *stream->begun, Keep::all);
            if (first == LW_OK) first = status;
        }
    }
    return first;
}
