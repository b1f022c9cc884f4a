#include "runtime/stream.h"
#include "formats/artifact/geometry.h"
#include "runtime/samples.h"
#include "runtime/status.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

// ---- set-up --------------------------------------------------------------------------------------------------------------------------------------

// The most rows a block can bring, by the ports that could fire together.
uint32_t rows_per_block(const fb::Entry &entry) {
    uint64_t rows = 0;
    for (const fb::OutputPort *port : *entry.outputs()) rows += port->rows();
    return rows > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(rows);
}

uint32_t widest(const fb::Entry &entry) {
    uint32_t width = 0;
    for (const fb::OutputPort *port : *entry.outputs()) width = port->width() > width ? port->width() : width;
    return width;
}

// Lays the block out; with memory null it only measures. Returns the size.
uint64_t lay_out(const lw_model &model, const fb::Entry &entry, const lw_stream_options &options, uint8_t *memory, lw_stream *stream) {
    Parts parts(memory);
    parts.take<lw_stream>(1);
    const uint32_t least = rows_per_block(entry), wanted = options.queue ? options.queue : 64;
    stream->queue_rows = wanted > least ? wanted : least;
    stream->queue_row_bytes = static_cast<uint32_t>(to_line(sizeof(QueuedRow) + uint64_t{widest(entry)} * 4));
    stream->rows_per_block = least;
    stream->rows = parts.take<Rows>(entry.outputs()->size());
    for (uint32_t i = 0; memory && i < entry.outputs()->size(); ++i) new (stream->rows + i) Rows(*entry.outputs()->Get(i), entry.block());
    stream->state = parts.take<StreamState>(1);
    stream->plan_state = parts.take<uint8_t>(entry.state_bytes());
    stream->queue = parts.take<uint8_t>(uint64_t{stream->queue_rows} * stream->queue_row_bytes);
    uint8_t *arena = parts.take<uint8_t>(entry.arena_bytes());
    const Bases bases = memory ? model.bases(stream->plan_state, arena) : Bases{};
    stream->program.build(entry, model.kernels, bases, scratch_needed(entry, model.variant), parts);
    stream->bases = bases;
    if (memory) stream->input = moving(*entry.inputs()->Get(0)->place(), bases);
    return parts.used();
}

lw_status read(const lw_model *model, const lw_stream_options *given, lw_stream_options *options, const fb::Entry **entry) {
    if (!model) return fail(LW_INVALID_ARGUMENT, {"model is NULL"});
    if (!read_options(given, options)) return fail(LW_INVALID_ARGUMENT, {"struct_size of lw_stream_options is not set"});
    if (!known_format(options->format)) return fail(LW_INVALID_ARGUMENT, {"lw_stream_options: unknown format"});
    *entry = model->view.stream();
    if (!*entry) return fail(LW_NO_STREAM, {model->plan().name()->c_str(), " was compiled without a stream"});
    const fb::Input &input = *model->plan().inputs()->Get((*entry)->inputs()->Get(0)->input());
    if (!given && input.kind() == fb::InputKind::tokens) options->format = LW_I32;
    if (!format_fits(options->format, input.kind()))
        return fail(LW_INVALID_ARGUMENT, {"format ", uint64_t(options->format), " does not fit input ", input.name()->c_str()});
    if (options->queue > 1u << 20) return fail(LW_INVALID_ARGUMENT, {"queue of ", options->queue, " rows; at most 1048576"});
    return LW_OK;
}

// ---- the queue -----------------------------------------------------------------------------------------------------------------------------------

// Rows that block b brings; those of the start-up and beyond the end of the sequence do not count, but are few.
bool room_for_block(const lw_stream &stream) {
    const uint32_t room = stream.queue_rows - stream.state->queue_count;
    if (room >= stream.rows_per_block) return true;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < outputs(stream); ++i)
        if (stream.rows[i].fires(stream.state->block)) rows += stream.rows[i].rows;
    return rows <= room;
}

void queue_outputs(lw_stream &stream) {
    StreamState &state = *stream.state;
    for (uint32_t i = 0; i < outputs(stream); ++i) {
        const fb::OutputPort &port = *stream.entry->outputs()->Get(i);
        const Rows &rows = stream.rows[i];
        if (!rows.fires(state.block)) continue;
        const uint8_t *from = moving(*port.place(), stream.bases).at(state.block / rows.period, 0);
        const uint64_t first = rows.first(state.block), valid = state.life == Life::finished ? rows.valid(state.ticks) : UINT64_MAX;
        for (uint64_t r = 0; r < rows.rows; ++r) {
            if (first + r < rows.lead) continue;
            const uint64_t row = first + r - rows.lead;
            if (row >= valid) {
                ++state.rows_dropped;
                continue;
            }
            uint8_t *to = slot(stream, state.queue_count++);
            const QueuedRow header = {row, rows.end(row), i, port.width(), 0};
            memcpy(to, &header, sizeof header);
            memcpy(to + sizeof header, from + r * port.row_bytes(), uint64_t{port.width()} * 4);
        }
    }
}

// ---- blocks --------------------------------------------------------------------------------------------------------------------------------------

uint8_t *input_row(lw_stream &stream, uint32_t tick) {
    return stream.input.at(stream.state->block, 0) + uint64_t{tick} * input_port(stream).row_bytes();
}

lw_status run_block(lw_stream &stream) {
    StreamState &state = *stream.state;
    const fb::Step *failed = nullptr;
    {
        FlushDenormals mode;
        failed = stream.program.run(state.block, Extent{});
    }
    if (failed) {
        state.life = Life::failed;
        return fail(LW_DEVICE, {"a kernel failed: ", failed->name() ? failed->name()->c_str() : "unnamed step"});
    }
    queue_outputs(stream);
    ++state.block;
    state.filled = 0;
    return LW_OK;
}

// Blocks a finished stream has to have run to show every valid row.
uint64_t last_block(const lw_stream &stream) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < outputs(stream); ++i) {
        const Rows &rows = stream.rows[i];
        const uint64_t blocks = rows.blocks_for(rows.valid(stream.state->ticks));
        last = blocks > last ? blocks : last;
    }
    return last;
}

// A finished stream: the rest of the block is zero.
lw_status run_zeros(lw_stream &stream) {
    const uint64_t row_bytes = input_port(stream).row_bytes();
    memset(input_row(stream, stream.state->filled), 0, (stream.entry->block() - stream.state->filled) * row_bytes);
    return run_block(stream);
}

lw_status check_samples(const lw_stream &stream, const void *samples, size_t n) {
    if (n > 0 && !samples) return fail(LW_INVALID_ARGUMENT, {"samples is NULL"});
    if (stream.state->life != Life::open) return not_open(stream);
    if (stream.format != LW_I32) return LW_OK;
    const uint32_t vocabulary = input_of(stream).vocabulary();
    const size_t bad = first_bad_token(samples, n, vocabulary);
    return bad == n ? LW_OK : fail(LW_BAD_TOKEN, {"token ", uint64_t(bad), " of this push is outside 0 … ", vocabulary - 1});
}

// Takes ticks until they are used up or a block would bring rows there is no room for.
lw_status take(lw_stream &stream, const void *samples, size_t n, size_t *taken, bool drop) {
    StreamState &state = *stream.state;
    const uint32_t block = stream.entry->block(), width = input_of(stream).width(), row_bytes = input_port(stream).row_bytes();
    const size_t tick_bytes = sample_bytes(stream.format) * width;
    const uint8_t *from = static_cast<const uint8_t *>(samples);
    while (*taken < n) {
        if (drop) state.queue_head = state.queue_count = 0;
        // Without room the block may still fill up to its last tick, so what is taken does not depend on how pushes were cut.
        const uint32_t room = block - state.filled - (room_for_block(stream) ? 0 : 1);
        const size_t left = n - *taken;
        const uint32_t ticks = left < room ? static_cast<uint32_t>(left) : room;
        if (ticks == 0) break;
        state.non_finite += convert(from, stream.format, ticks, width, input_row(stream, state.filled), row_bytes);
        from += ticks * tick_bytes;
        state.filled += ticks, state.ticks += ticks, *taken += ticks;
        if (state.filled == block)
            if (lw_status status = run_block(stream)) return status;
    }
    if (drop) state.queue_head = state.queue_count = 0;
    return LW_OK;
}

} // namespace

// ---- interface -----------------------------------------------------------------------------------------------------------------------------------

lw_status lw_stream_size(const lw_model *model, const lw_stream_options *options, size_t *size, size_t *alignment) {
    if (!size || !alignment) return fail(LW_INVALID_ARGUMENT, {"size or alignment is NULL"});
    lw_stream_options read_in;
    const fb::Entry *entry;
    if (lw_status status = read(model, options, &read_in, &entry)) return status;
    lw_stream measure{};
    *size = lay_out(*model, *entry, read_in, nullptr, &measure);
    *alignment = line;
    return LW_OK;
}

lw_status lw_stream_init(const lw_model *model, const lw_stream_options *options, void *memory, size_t size, lw_stream **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, {"out is NULL"});
    *out = nullptr;
    size_t needed, alignment;
    if (lw_status status = lw_stream_size(model, options, &needed, &alignment)) return status;
    if (!memory || reinterpret_cast<uintptr_t>(memory) % alignment != 0)
        return fail(LW_INVALID_ARGUMENT, {"memory is NULL or not aligned to ", uint64_t(alignment)});
    if (size < needed) return fail(LW_TOO_SMALL, {"a stream needs ", uint64_t(needed), " bytes, given ", uint64_t(size)});
    lw_stream_options read_in;
    const fb::Entry *entry;
    if (lw_status status = read(model, options, &read_in, &entry)) return status;
    lw_stream *stream = new (memory) lw_stream{};
    stream->model = model;
    stream->entry = entry;
    stream->format = read_in.format;
    stream->bytes = lay_out(*model, *entry, read_in, static_cast<uint8_t *>(memory), stream);
    memset(stream->queue, 0, uint64_t{stream->queue_rows} * stream->queue_row_bytes);
    clear(*stream);
    *out = stream;
    return LW_OK;
}

lw_status lw_stream_create(const lw_model *model, const lw_stream_options *options, lw_stream **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, {"out is NULL"});
    *out = nullptr;
    size_t size, alignment;
    if (lw_status status = lw_stream_size(model, options, &size, &alignment)) return status;
    Block block;
    if (!block.allocate(model->allocator, size)) return fail(LW_NO_MEMORY, {"no memory for a stream: ", uint64_t(size), " bytes"});
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
    if (!stream || !stream->owned) return;
    Block block{reinterpret_cast<uint8_t *>(stream), stream->bytes};
    block.release(stream->model->allocator);
}

lw_status lw_stream_push(lw_stream *stream, const void *samples, size_t n, size_t *taken) {
    size_t ignored;
    if (!taken) taken = &ignored;
    *taken = 0;
    if (!stream) return fail(LW_INVALID_ARGUMENT, {"stream is NULL"});
    if (lw_status status = check_samples(*stream, samples, n)) return status;
    return take(*stream, samples, n, taken, false);
}

lw_status lw_stream_prefill(lw_stream *stream, const void *samples, size_t n) {
    size_t taken = 0;
    if (!stream) return fail(LW_INVALID_ARGUMENT, {"stream is NULL"});
    if (lw_status status = check_samples(*stream, samples, n)) return status;
    return take(*stream, samples, n, &taken, true);
}

lw_status lw_stream_pull(lw_stream *stream, lw_output *out) {
    if (!stream || !out || out->struct_size < sizeof(size_t)) return fail(LW_INVALID_ARGUMENT, {"stream or out is NULL, or struct_size is not set"});
    StreamState &state = *stream->state;
    if (state.life == Life::failed) return not_open(*stream);
    while (state.queue_count == 0) {
        if (state.life == Life::open) return LW_AGAIN;
        if (state.block >= last_block(*stream)) return LW_END;
        if (lw_status status = run_zeros(*stream)) return status;
    }
    QueuedRow header;
    const uint8_t *from = slot(*stream, 0);
    memcpy(&header, from, sizeof header);
    lw_output output{};
    output.index = header.index;
    output.width = header.width;
    output.data = reinterpret_cast<const float *>(from + sizeof header);
    output.row = header.row;
    output.end = header.end;
    copy_sized(out, output);
    state.queue_head = (state.queue_head + 1) % stream->queue_rows;
    --state.queue_count;
    return LW_OK;
}

lw_status lw_stream_finish(lw_stream *stream) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, {"stream is NULL"});
    if (stream->state->life != Life::open) return not_open(*stream);
    stream->state->life = Life::finished; // pull runs the blocks that are left, one at a time: they need no more room than a push does
    return LW_OK;
}

lw_status lw_stream_reset(lw_stream *stream) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, {"stream is NULL"});
    clear(*stream);
    return LW_OK;
}

lw_status lw_stream_get_stats(const lw_stream *stream, lw_stream_stats *stats) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, {"stream is NULL"});
    lw_stream_stats now{};
    now.ticks = stream->state->ticks;
    now.blocks = stream->state->block;
    now.rows_dropped = stream->state->rows_dropped;
    now.non_finite = stream->state->non_finite;
    return copy_sized(stats, now) ? LW_OK : fail(LW_INVALID_ARGUMENT, {"stats is NULL or its struct_size is not set"});
}
