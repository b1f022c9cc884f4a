// lw_audio_stream_*: options, sizes, creation.
#include "formats/artifact/text.h"
#include "runtime/audio/filter.h"
#include "runtime/audio_stream/audio_stream.h"
#include "runtime/core/rows.h"
#include "runtime/core/samples.h"
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

struct Setup {
    lw_audio_stream_options options;
    AudioShape shape;
    uint32_t output, waiting;
    Gain gain;
    lw_stream_options stream;
    lw_resampler_options before, after;
    size_t before_bytes, after_bytes, stream_bytes; // 0: no such resampler
};

// Where the parts lie.
struct Layout {
    lw_audio_stream *own;
    uint8_t *before, *after, *stream;
    Waiting waiting;
    float *ticks, *piece;
};

uint64_t lay_out(const Setup &setup, uint8_t *memory, Layout *at) {
    Parts parts(memory);
    at->own = parts.take<lw_audio_stream>(1);
    at->waiting.build(setup.waiting, parts);
    at->ticks = parts.take<float>(setup.before_bytes ? setup.shape.ticks : 0);
    at->piece = parts.take<float>(setup.after_bytes ? setup.shape.piece : 0);
    at->before = parts.take<uint8_t>(setup.before_bytes);
    at->after = parts.take<uint8_t>(setup.after_bytes);
    at->stream = parts.take<uint8_t>(setup.stream_bytes);
    return parts.used();
}

[[gnu::noinline]] lw_status invalid(const char *what) {
    return fail(LW_INVALID_ARGUMENT, {"lw_audio_stream_options: ", what});
}

lw_status find_output(const lw_model &model, const fb::Entry &stream, Setup &setup) {
    const char *const name = setup.options.output;
    const uint32_t outputs = stream.outputs()->size();
    uint32_t found = outputs;
    for (uint32_t i = 0; i < outputs; ++i) {
        const fb::OutputPort &port = *stream.outputs()->Get(i);
        if (name ? !artifact::equal(*port.name(), name) : port.sample_rate() == 0) continue;
        if (found < outputs)
            return fail(LW_NOT_FOUND, "several outputs are audio: set lw_audio_stream_options.output");
        found = i;
    }
    if (found == outputs) {
        if (name) return fail(LW_NOT_FOUND, {"the stream has no output ", name});
        return fail(LW_NOT_FOUND, {model.plan().name()->c_str(), " has no output of kind audio"});
    }
    if (stream.outputs()->Get(found)->sample_rate() == 0)
        return fail(LW_NOT_FOUND, {"output ", name, " is not of kind audio"});
    setup.output = found;
    return LW_OK;
}

// The most samples of the model that one block brings: its rows, and silence in place of those that
// a restart drops.
uint64_t samples_of_block(const lw_model &model, uint64_t block, const Setup &setup) {
    uint64_t most = 0;
    for (const StreamEntry &entry : model.streams) {
        if (entry.block > block) continue; // the stream never runs it
        const fb::OutputPort &port = *entry.entry->outputs()->Get(setup.output);
        const Rows rows(port, entry.block);
        const uint64_t samples = (2 * rows.rows + rows.lead + 2) * port.width();
        most = samples > most ? samples : most;
    }
    return most;
}

// Samples of the model that are not there yet when a live caller asks, in the worst case: in front
// of the last tick of the block that brings a row.
uint64_t samples_behind(const fb::OutputPort &port, uint64_t block, const AudioShape &s) {
    const Rows rows(port, block);
    return scaled_down((rows.phase + 1) * block - 1, s.model_out, s.model_in) + rows.lead * s.width + s.lag;
}

lw_status read_resampler(uint32_t in, uint32_t out, lw_sample_format format, lw_resampler_options *options,
                         size_t *bytes) {
    if (in == out) return LW_OK;
    options->struct_size = sizeof *options;
    options->format = format;
    options->rate_in = in;
    options->rate_out = out;
    size_t alignment;
    return lw_resampler_size(options, bytes, &alignment);
}

// Rates, the room that they need, and the latency that they make.
lw_status read_rates(const fb::OutputPort &port, uint64_t block, uint64_t block_samples, Setup &setup) {
    AudioShape &s = setup.shape;
    const lw_audio_stream_options &o = setup.options;
    s.rate_in = o.rate_in ? o.rate_in : s.model_in;
    s.rate_out = o.rate_out ? o.rate_out : s.model_out;
    if (lw_status status =
            read_resampler(s.rate_in, s.model_in, o.format, &setup.before, &setup.before_bytes))
        return status;
    if (lw_status status = read_resampler(s.model_out, s.rate_out, LW_F32, &setup.after, &setup.after_bytes))
        return status;
    uint64_t latency = samples_behind(port, block, s), ticks = 0, piece = 0;
    if (setup.before_bytes || setup.after_bytes) {
        const uint32_t in = setup.before_bytes ? Span(Ratio(s.rate_in, s.model_in)).after : 0;
        const uint32_t out = setup.after_bytes ? Span(Ratio(s.model_out, s.rate_out)).after : 0;
        // Each step rounds by less than a sample.
        const uint64_t samples = latency + scaled_up(1, s.model_out, s.model_in) + out;
        latency = scaled_up(in, s.rate_out, s.rate_in) + scaled_up(samples, s.rate_out, s.model_out) + 2;
        ticks = scaled_up(uint64_t{in} + 1, s.model_in, s.rate_in) + 2;
        ticks = ticks < 256 ? 256 : ticks;
        piece = scaled_up(uint64_t{out} + samples_at_once, s.rate_out, s.model_out) + 2;
    }
    const uint64_t coming = scaled_up(block_samples, s.rate_out, s.model_out) + piece;
    const uint64_t waiting = coming + (o.queue ? o.queue : 1024);
    if (waiting > 1u << 28 || latency > 1u << 28) return invalid("more than 2^28 samples would wait");
    s.latency = static_cast<uint32_t>(latency);
    s.ticks = static_cast<uint32_t>(ticks);
    s.piece = static_cast<uint32_t>(piece);
    s.block_samples = static_cast<uint32_t>(coming);
    setup.waiting = static_cast<uint32_t>(waiting);
    return LW_OK;
}

// The block of the stream's own entry.
uint64_t block_of(const lw_model &model, uint32_t asked) { return asked ? asked : model.streams[0].block; }

lw_status read(const lw_model *model, const lw_audio_stream_options *options, Setup *setup) {
    if (!model) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    // Samples of another format would be heard as noise, so there is no default.
    if (!options) return invalid("NULL; set the format of the samples: LW_S16 or LW_F32");
    if (lw_status status = read_options(options, &setup->options, "lw_audio_stream_options")) return status;
    const fb::Entry *stream;
    AudioShape &s = setup->shape;
    if (lw_status status = find_stream(*model, &stream)) return status;
    if (lw_status status = find_audio(*model, *stream, &s.model_in)) return status;
    if (lw_status status = find_output(*model, *stream, *setup)) return status;
    lw_audio_stream_options &o = setup->options;
    if (lw_status status = read_settings({"lw_audio_stream_options", s.model_in, o.block, 0, 0}, &o.format,
                                         &setup->gain, &setup->stream))
        return status;
    const fb::OutputPort &port = *stream->outputs()->Get(setup->output);
    s.model_out = port.sample_rate();
    s.width = port.width();
    s.lag = port.lag();
    s.clock_num = port.clock_num();
    s.clock_den = port.clock_den();
    s.live = o.live != 0;
    const bool resampled = o.rate_in && o.rate_in != s.model_in;
    if (resampled) setup->stream.format = LW_F32;
    setup->stream.queue = 1; // as few as the blocks allow: rows are taken at once
    size_t alignment;
    if (lw_status status = lw_stream_size(model, &setup->stream, &setup->stream_bytes, &alignment))
        return status;
    // lw_stream_size has looked at the block.
    const uint64_t block = block_of(*model, o.block);
    for (const StreamEntry &entry : model->streams)
        if (entry.block == block) stream = entry.entry;
    return read_rates(*stream->outputs()->Get(setup->output), block, samples_of_block(*model, block, *setup),
                      *setup);
}

} // namespace

lw_status lw_audio_stream_size(const lw_model *model, const lw_audio_stream_options *options, size_t *size,
                               size_t *alignment) {
    if (!size || !alignment) return fail(LW_INVALID_ARGUMENT, "size or alignment is NULL");
    Setup setup{};
    if (lw_status status = read(model, options, &setup)) return status;
    Layout at{};
    *size = to_size(lay_out(setup, nullptr, &at));
    *alignment = line;
    return LW_OK;
}

lw_status lw_audio_stream_init(const lw_model *model, const lw_audio_stream_options *options, void *memory,
                               size_t size, lw_audio_stream **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    Setup setup{};
    if (lw_status status = read(model, options, &setup)) return status;
    Layout at{};
    if (lw_status status = check_memory("an audio stream", memory, size, lay_out(setup, nullptr, &at)))
        return status;
    lay_out(setup, static_cast<uint8_t *>(memory), &at);
    lw_audio_stream *audio = new (memory) lw_audio_stream{};
    audio->model = model;
    audio->format = setup.options.format;
    audio->shape = setup.shape;
    audio->waiting = at.waiting;
    audio->ticks = at.ticks;
    audio->piece = at.piece;
    if (setup.before_bytes)
        if (lw_status status =
                lw_resampler_init(&setup.before, at.before, setup.before_bytes, &audio->before))
            return status;
    if (setup.after_bytes)
        if (lw_status status = lw_resampler_init(&setup.after, at.after, setup.after_bytes, &audio->after))
            return status;
    audio->listener.output = setup.output;
    audio->listener.format = setup.before_bytes ? LW_F32 : audio->format;
    audio->listener.gain = setup.gain;
    begin(*audio);
    if (lw_status status =
            lw_stream_init(model, &setup.stream, at.stream, setup.stream_bytes, &audio->listener.stream))
        return status;
    *out = audio;
    return LW_OK;
}

lw_status lw_audio_stream_create(const lw_model *model, const lw_audio_stream_options *options,
                                 lw_audio_stream **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    size_t size, alignment;
    if (lw_status status = lw_audio_stream_size(model, options, &size, &alignment)) return status;
    return create_object(*model, "an audio stream", size, out, [=](void *memory) {
        return lw_audio_stream_init(model, options, memory, size, out);
    });
}

void lw_audio_stream_destroy(lw_audio_stream *stream) { destroy_object(stream); }
