// lw_stream_*: creation, input and output.
#include "runtime/core/sample_format.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/stream/blocks.h"
#include "runtime/stream/caches.h"
#include "runtime/stream/flush.h"
#include "runtime/stream/memory.h"
#include "runtime/stream/state.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

uint32_t widest(const fb::Entry &entry) {
    uint32_t width = 0;
    for (const fb::OutputPort *port : *entry.outputs()) width = port->width() > width ? port->width() : width;
    return width;
}

// The options, checked.
struct Request {
    lw_stream_options options{};
    const StreamEntry *own = nullptr;

    SessionKind session() const {
        const uint64_t most = options.no_larger_blocks ? own->block : UINT64_MAX;
        return {.entries = fb::EntryKind::stream, .most_block = most};
    }
};

// Lays out the memory of a stream and returns its size. With null it only measures. *session_at:
// where the session begins.
uint64_t lay_out(const lw_model &model, const Request &request, uint8_t *memory, lw_stream *stream,
                 uint8_t **session_at) {
    Parts parts(memory);
    parts.take<lw_stream>(1);
    stream->rows_per_block = model.streams.rows_per_block(*request.own);
    // Prefill ends with rows of a block of any entry that it runs, and a saved state may bring them.
    uint64_t least = request.options.no_larger_blocks ? stream->rows_per_block : model.streams.most_rows();
    if (model.device->start && least < most_blocks_in_flight * stream->rows_per_block)
        least = most_blocks_in_flight * stream->rows_per_block;
    const uint32_t wanted = request.options.queue ? request.options.queue : 64;
    const uint32_t rows =
        wanted > least ? wanted : static_cast<uint32_t>(least < UINT32_MAX ? least : UINT32_MAX);
    stream->state = parts.take<StreamState>(1);
    stream->cache_ticks = parts.take<uint64_t>(model.streams.size());
    stream->queue.build(rows, widest(*request.own->entry), parts);
    *session_at = parts.take<uint8_t>(model.device->session_bytes(model.source(), request.session()));
    return parts.used();
}

// The entry of that block; null: there is none. 0: the default.
const StreamEntry *find_entry(const lw_model &model, uint32_t block) {
    for (const StreamEntry &entry : model.streams)
        if (block == 0 || entry.block == block) return &entry;
    return nullptr;
}

lw_status no_such_block(const lw_model &model, uint32_t block) {
    keep_message({"no stream entry has block ", block, "; the model has blocks"});
    for (const StreamEntry &entry : model.streams)
        add_to_message({&entry == model.streams.begin() ? " " : ", ", entry.block});
    return LW_NOT_FOUND;
}

lw_status read(const lw_model *model, const lw_stream_options *given, Request *request) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    lw_stream_options &options = request->options;
    if (lw_status status = read_options(given, &options, "lw_stream_options")) return status;
    if (model->streams.size() == 0)
        return fail(LW_NO_STREAM, {model->plan().name()->c_str(), " was compiled without a stream",
                                   model->asked ? " for this device" : ""});
    const uint32_t port = model->streams[0].entry->inputs()->Get(0)->input(); // all entries have the same
    const fb::Input &input = *model->plan().inputs()->Get(port);
    if (lw_status status = read_format("lw_stream_options", input.kind(), &options.format)) return status;
    if (!format_fits(options.format, input.kind()))
        return fail(LW_INVALID_ARGUMENT,
                    {"format ", name_of(options.format), " does not fit input ", input.name()->c_str()});
    request->own = find_entry(*model, options.block);
    if (!request->own) return no_such_block(*model, options.block);
    if (options.queue > 1u << 20)
        return fail(LW_INVALID_ARGUMENT, {"queue of ", options.queue, " rows; at most 1048576"});
    return LW_OK;
}

// ---- input ----

} // namespace

lw_status longwave::runtime::check_samples(const lw_stream &stream, const void *samples, size_t n) {
    if (n > 0 && !samples) return fail(LW_INVALID_ARGUMENT, "samples is NULL");
    if (stream.state->life != Life::open) return not_open(stream);
    if (stream.format != LW_I32) return LW_OK;
    const uint32_t vocabulary = input_of(stream).vocabulary();
    const size_t bad = first_bad_token(samples, n, vocabulary);
    return bad == n ? LW_OK
                    : fail(LW_BAD_TOKEN,
                           {"token ", uint64_t(bad), " of this push is outside 0 … ", vocabulary - 1});
}

namespace {

// Samples that push has not taken yet.
struct Feed {
    const uint8_t *from;
    size_t left;

    // Copies the next ticks, at most `most`, into the input ring.
    void put(lw_stream &stream, uint64_t most) {
        const uint64_t ticks = left < most ? left : most;
        if (ticks == 0) return;
        const lw_model &model = *stream.model;
        const InputRing &ring = model.streams.ring();
        StreamState &state = *stream.state;
        const Samples samples = {from, stream.format, ticks, input_of(stream).width(),
                                 model.plan().sample_limit()};
        const Area area = {fb::Space::state, 0, ring.at(state.done + state.pending), ticks * ring.row_bytes};
        state.non_finite += stream.device().put(*stream.session, area, ring.row_bytes, samples);
        state.pending += static_cast<uint32_t>(ticks);
        state.ticks += ticks;
        from += ticks * samples.width * sample_bytes(stream.format);
        left -= ticks;
    }
};

// Takes ticks until none is left, or until a block would bring more rows than the queue has room
// for.
lw_status take(lw_stream &stream, Feed &feed) {
    StreamState &state = *stream.state;
    for (;;) {
        const StreamEntry &entry = next_entry(stream);
        const bool room = room_for_block(stream, entry);
        // Without room, the block still fills up to its last tick, so that the taken ticks do not
        // depend on the sizes of the pushes.
        const uint64_t fill = entry.block - (room ? 0 : 1);
        if (state.pending < fill && feed.left > 0) {
            if (stream.n_begun == most_begun(stream))
                if (lw_status status = end_block(stream, Keep::all)) return status;
            feed.put(stream, fill - state.pending);
        }
        if (state.pending < entry.block || !room || stream.held) return LW_OK;
        if (feed.left == 0 && runs_together(stream)) {
            add_to_flush(stream);
            return LW_OK;
        }
        if (lw_status status = run_next(stream, entry)) return status;
    }
}

// Takes all ticks. Runs the largest entries that fit, and the stream's own entry last.
lw_status read_ahead(lw_stream &stream, Feed &feed) {
    StreamState &state = *stream.state;
    const StreamEntries &entries = stream.model->streams;
    if (lw_status status = end_blocks(stream)) return status;
    stream.queue.clear();
    for (;;) {
        const uint64_t ticks = state.pending + feed.left;
        const bool aligned = state.done % stream.own->block == 0;
        const StreamEntry &entry = aligned && ticks >= stream.own->block
                                       ? entries.largest(*stream.own, state.done, ticks, stream.most_block)
                                       : next_entry(stream);
        if (ticks < entry.block) break;
        if (state.pending < entry.block) feed.put(stream, entry.block - state.pending);
        if (!rebuild(stream, entry)) return LW_DEVICE;
        const uint64_t then = ticks - entry.block;
        const bool last = then < entries.at(*stream.own, state.done + entry.block).block;
        if (lw_status status = run_block(stream, entry, last ? Keep::instead : Keep::newest)) return status;
    }
    feed.put(stream, feed.left);
    return LW_OK;
}

// Runs blocks until a row waits: those in flight, those of a loaded or unflushed stream, and the
// zeros of a finished one.
lw_status wait_for_row(lw_stream &stream) {
    StreamState &state = *stream.state;
    if (state.life == Life::failed) return not_open(stream);
    while (stream.queue.rows() == 0) {
        if (stream.n_begun > (stream.newest_later ? 1u : 0u)) {
            if (lw_status status = end_block(stream, Keep::all)) return status;
        } else if (state.life == Life::open) {
            const StreamEntry &entry = next_entry(stream);
            if (state.pending < entry.block) return without_detail(LW_AGAIN);
            if (lw_status status = run_next(stream, entry)) return status;
        } else {
            if (state.done >= last_tick(stream)) return without_detail(LW_END);
            if (lw_status status = run_zeros(stream)) return status;
        }
    }
    return LW_OK;
}

} // namespace

// ---- interface ----

lw_status lw_stream_size(const lw_model *model, const lw_stream_options *options, size_t *size,
                         size_t *alignment) {
    if (!size || !alignment) return fail(LW_INVALID_ARGUMENT, "size or alignment is NULL");
    Request request;
    if (lw_status status = read(model, options, &request)) return status;
    lw_stream measure{};
    uint8_t *session_at = nullptr;
    *size = to_size(lay_out(*model, request, nullptr, &measure, &session_at));
    *alignment = line;
    return LW_OK;
}

lw_status lw_stream_init(const lw_model *model, const lw_stream_options *options, void *memory, size_t size,
                         lw_stream **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    size_t needed, alignment;
    if (lw_status status = lw_stream_size(model, options, &needed, &alignment)) return status;
    if (!memory || reinterpret_cast<uintptr_t>(memory) % alignment != 0)
        return fail(LW_INVALID_ARGUMENT, {"memory is NULL or not aligned to ", uint64_t(alignment)});
    if (size < needed)
        return fail(LW_TOO_SMALL, {"a stream needs ", uint64_t(needed), " bytes, given ", uint64_t(size)});
    Request request;
    if (lw_status status = read(model, options, &request)) return status;
    lw_stream *stream = new (memory) lw_stream{};
    stream->model = model;
    stream->users = 1;
    stream->own = request.own;
    stream->most_block = request.session().most_block;
    stream->format = request.options.format;
    uint8_t *session_at = nullptr;
    stream->bytes = lay_out(*model, request, static_cast<uint8_t *>(memory), stream, &session_at);
    if (lw_status status =
            model->device->begin(*model->on_device, request.session(), session_at, &stream->session))
        return status;
    clear(*stream); // the first block reports a failure
    hold(*model);
    *out = stream;
    return LW_OK;
}

lw_status lw_stream_create(const lw_model *model, const lw_stream_options *options, lw_stream **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    size_t size, alignment;
    if (lw_status status = lw_stream_size(model, options, &size, &alignment)) return status;
    if (lw_status status = model->budget.allows("a stream", size + model->own_stream_bytes)) return status;
    Block block;
    if (!block.allocate(model->allocator, size))
        return fail(LW_NO_MEMORY, {"no memory for a stream: ", uint64_t(size), " bytes"});
    lw_stream *stream = nullptr;
    if (lw_status status = lw_stream_init(model, options, block.data, size, &stream)) {
        block.release(model->allocator);
        return status;
    }
    stream->owned = true;
    *out = stream;
    return LW_OK;
}

void lw_stream_destroy(lw_stream *stream) {
    if (!stream || --stream->users > 0) return;
    remove_from_flush(*stream);
    stream->device().end(stream->session);
    const lw_model &model = *stream->model;
    Block block{reinterpret_cast<uint8_t *>(stream), stream->bytes};
    if (stream->owned) block.release(model.allocator);
    let_go(model);
}

lw_status lw_stream_push(lw_stream *stream, const void *samples, size_t n, size_t *taken) {
    size_t ignored;
    if (!taken) taken = &ignored;
    *taken = 0;
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    if (lw_status status = check_samples(*stream, samples, n)) return status;
    Feed feed = {static_cast<const uint8_t *>(samples), n};
    const lw_status status = take(*stream, feed);
    *taken = n - feed.left;
    return status;
}

lw_status lw_stream_prefill(lw_stream *stream, const void *samples, size_t n) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    if (lw_status status = check_samples(*stream, samples, n)) return status;
    Feed feed = {static_cast<const uint8_t *>(samples), n};
    return read_ahead(*stream, feed);
}

lw_status lw_stream_pull(lw_stream *stream, lw_stream_row *out) {
    if (!stream || !out || out->struct_size < sizeof(size_t))
        return fail(LW_INVALID_ARGUMENT, "stream or out is NULL, or struct_size is not set");
    if (lw_status status = wait_for_row(*stream)) return status;
    Queue &queue = stream->queue;
    const QueuedRows &run = queue.run(0);
    lw_stream_row output{};
    output.index = run.output;
    output.width = run.width;
    output.data = reinterpret_cast<const float *>(queue.row(0));
    output.row = run.row;
    output.end = stream->own->rows[run.output].end(run.row);
    copy_sized(out, output);
    queue.drop(1);
    return LW_OK;
}

lw_status lw_stream_pull_rows(lw_stream *stream, lw_stream_rows *out) {
    lw_stream_rows rows{};
    if (!stream || !out || !read_sized(out, &rows) || !rows.data)
        return fail(LW_INVALID_ARGUMENT, "stream, out or data is NULL, or struct_size is not set");
    if (lw_status status = wait_for_row(*stream)) return status;
    Queue &queue = stream->queue;
    const QueuedRows run = queue.run(0);
    const uint64_t room = rows.capacity / run.width, bytes = uint64_t{run.width} * 4;
    if (room == 0)
        return fail(LW_TOO_SMALL, {"room for ", uint64_t(rows.capacity), " floats; a row has ", run.width});
    const uint32_t n = room < run.rows ? static_cast<uint32_t>(room) : run.rows;
    uint8_t *to = reinterpret_cast<uint8_t *>(rows.data);
    for (uint32_t done = 0, chunk; done < n; done += chunk) {
        chunk = queue.in_line(done, n - done);
        copy_rows(queue.row(done), queue.stride(), to + done * bytes, bytes, chunk, bytes);
    }
    queue.drop(n);
    rows.index = run.output;
    rows.width = run.width;
    rows.row = run.row;
    rows.rows = n;
    rows.end = stream->own->rows[run.output].end(run.row + n - 1);
    copy_sized(out, rows);
    return LW_OK;
}

lw_status lw_stream_finish(lw_stream *stream) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    if (stream->state->life != Life::open) return not_open(*stream);
    if (lw_status status = end_blocks(*stream)) return status;
    // pull runs the blocks that are left one at a time, so the queue needs no more room than for
    // push.
    stream->state->life = Life::finished;
    return LW_OK;
}

lw_status lw_stream_reset(lw_stream *stream) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    (void)end_blocks(*stream); // a failure ends here
    clear(*stream);
    return wait(*stream);
}

lw_status lw_stream_get_stats(const lw_stream *stream, lw_stream_stats *stats) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    const StreamState &state = *stream->state;
    lw_stream_stats now{};
    now.ticks = state.ticks;
    now.blocks = state.done / stream->own->block;
    now.rows_dropped = state.rows_dropped;
    now.non_finite = state.non_finite;
    now.non_finite_outputs = state.non_finite_outputs;
    now.poisoned = state.poisoned != 0;
    now.unchecked_state = stream->unchecked;
    return copy_sized(stats, now) ? LW_OK
                                  : fail(LW_INVALID_ARGUMENT, "stats is NULL or its struct_size is not set");
}
