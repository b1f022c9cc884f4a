#include "runtime/stream/batch.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/blocks.h"
#include "runtime/stream/state.h"
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

uint64_t lay_out(const lw_model &model, uint8_t *memory, lw_batch **out) {
    Parts parts(memory);
    const Device &device = *model.device;
    const uint32_t most = device.batch_streams(model.source());
    lw_batch *batch = parts.take<lw_batch>(1);
    auto *members = parts.take<BatchMember>(most);
    auto **group = parts.take<lw_stream *>(most);
    uint8_t *joined = parts.take<uint8_t>(most > 1 ? device.batch_bytes(model.source()) : 0);
    if (out) {
        *out = new (batch) lw_batch{&model, 0, most, nullptr, members, group};
        if (most > 1) device.begin_batch(*model.on_device, joined, &(*out)->joined);
    }
    return parts.used();
}

bool has_block(const lw_stream &stream) {
    const StreamEntry &entry = next_entry(stream);
    return stream.state->life == Life::open && stream.state->pending >= entry.block &&
           room_for_block(stream, entry);
}

// Streams whose next blocks run the same steps stand side by side.
void add_to_group(lw_batch &batch, const StreamEntry &entry, uint32_t n, lw_stream &stream) {
    const auto phase = [&](const lw_stream &one) {
        return one.state->done / entry.block % entry.entry->period();
    };
    for (; n > 0 && phase(*batch.group[n - 1]) > phase(stream); --n) batch.group[n] = batch.group[n - 1];
    batch.group[n] = &stream;
}

// Runs a block of each stream of the group, all of one entry.
lw_status run_group(lw_batch &batch, const StreamEntry &entry, uint32_t n) {
    if (n == 1) return run_block(*batch.group[0], entry, Keep::all);
    for (uint32_t i = 0; i < n; ++i) {
        const lw_stream &stream = *batch.group[i];
        batch.members[i] = {stream.session, stream.state->done / entry.block, extent_of_block(stream)};
    }
    lw_status first = batch.model->device->run_batch(*batch.joined, entry.index, batch.members, n);
    const bool failed = first != LW_OK;
    for (uint32_t i = 0; i < n; ++i) {
        lw_stream &stream = *batch.group[i];
        if (failed) {
            (void)failed_if(stream, first);
            continue;
        }
        count_block(stream, entry);
        keep_first(first, end_block(stream, Keep::all));
    }
    return first;
}

lw_stream *of_array(const void *list, size_t i) { return static_cast<lw_stream *const *>(list)[i]; }

// Samples of the streams of a call that were not taken yet.
struct Pushed {
    lw_stream *const *streams;
    const void *const *samples;
    const size_t *counts;
    size_t *taken;

    lw_status check(size_t n) const {
        for (size_t i = 0; i < n; ++i)
            if (lw_status status = check_samples(*streams[i], samples[i], counts[i])) {
                add_to_message({" (stream ", uint64_t(i), " of the call)"});
                return status;
            }
        return LW_OK;
    }
    // Pushes samples of stream i, up to the end of its block.
    lw_status fill(size_t i) const {
        lw_stream &stream = *streams[i];
        const size_t left = counts[i] - taken[i];
        const uint64_t to_block = ticks_to_block(stream);
        const size_t piece = left < to_block ? left : static_cast<size_t>(to_block);
        if (piece == 0) return LW_OK;
        const uint64_t bytes = uint64_t{input_of(stream).width()} * sample_bytes(stream.format);
        size_t now = 0;
        const lw_status status =
            lw_stream_push(&stream, static_cast<const uint8_t *>(samples[i]) + taken[i] * bytes, piece, &now);
        taken[i] += now;
        return status;
    }
};

} // namespace

namespace longwave::runtime {

lw_status hold_streams(const lw_batch &batch, const StreamList &streams) {
    for (size_t i = 0; i < streams.n; ++i) {
        lw_stream *const stream = streams.at(i);
        const char *const fault = !stream                        ? " of the call is NULL"
                                  : stream->model != batch.model ? " of the call is of another model"
                                  : stream->held                 ? " of the call occurs twice"
                                                                 : nullptr;
        if (!fault) {
            stream->held = true;
            continue;
        }
        release_streams({streams.list, i, streams.stream});
        return fail(LW_INVALID_ARGUMENT, {"stream ", uint64_t(i), fault});
    }
    return LW_OK;
}

void release_streams(const StreamList &streams) {
    for (size_t i = 0; i < streams.n; ++i) streams.at(i)->held = false;
}

lw_status run_pending(lw_batch &batch, const StreamList &streams, bool *ran) {
    lw_status first = LW_OK;
    *ran = false;
    // A stream keeps its mark until its block has run, so that each runs one.
    for (bool more = true; more;) {
        const StreamEntry *entry = nullptr;
        uint32_t n = 0;
        more = false;
        for (size_t i = 0; i < streams.n; ++i) {
            lw_stream &stream = *streams.at(i);
            if (!stream.held || !has_block(stream)) continue;
            const StreamEntry &next = next_entry(stream);
            if (!entry) entry = &next;
            if (entry != &next) {
                more = true;
                continue;
            }
            stream.held = false;
            add_to_group(batch, next, n++, stream);
            if (n < batch.most) continue;
            keep_first(first, run_group(batch, *entry, n));
            n = 0;
            *ran = true;
        }
        if (n > 0) {
            keep_first(first, run_group(batch, *entry, n));
            *ran = true;
        }
    }
    for (size_t i = 0; i < streams.n; ++i) streams.at(i)->held = true;
    return first;
}

} // namespace longwave::runtime

lw_status lw_batch_create(const lw_model *model, lw_batch **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    if (!model->device->run_batch)
        return fail(LW_UNSUPPORTED,
                    "a batch is for streams on the CPU; a GPU runs streams together by itself, in "
                    "lw_device_submit and lw_device_flush");
    if (model->streams.size() == 0)
        return fail(LW_NO_STREAM, {model->plan().name()->c_str(), " was compiled without a stream"});
    const uint64_t bytes = lay_out(*model, nullptr, nullptr);
    if (lw_status status = model->budget.allows("a batch", bytes)) return status;
    Block block;
    if (!block.allocate(model->allocator, bytes)) return no_memory("a batch", bytes);
    lay_out(*model, block.data, out);
    (*out)->bytes = bytes;
    hold(*model);
    return LW_OK;
}

void lw_batch_destroy(lw_batch *batch) {
    if (!batch) return;
    const lw_model &model = *batch->model;
    Block block{reinterpret_cast<uint8_t *>(batch), batch->bytes};
    block.release(model.allocator);
    let_go(model);
}

uint32_t lw_batch_streams(const lw_batch *batch) { return batch ? batch->most : 0; }

lw_status lw_batch_push(lw_batch *batch, lw_stream *const *streams, size_t n_streams,
                        const void *const *samples, const size_t *counts, size_t *taken) {
    if (!batch || (n_streams > 0 && (!streams || !samples || !counts || !taken)))
        return fail(LW_INVALID_ARGUMENT, "batch, streams, samples, counts or taken is NULL");
    for (size_t i = 0; i < n_streams; ++i) taken[i] = 0;
    const StreamList list = {streams, n_streams, of_array};
    if (lw_status status = hold_streams(*batch, list)) return status;
    const Pushed pushed = {streams, samples, counts, taken};
    lw_status first = pushed.check(n_streams);
    for (bool more = first == LW_OK; more;) {
        for (size_t i = 0; i < n_streams; ++i)
            if (streams[i]->state->life == Life::open) keep_first(first, pushed.fill(i));
        keep_first(first, run_pending(*batch, list, &more));
    }
    release_streams(list);
    return first;
}
