// lw_resampler_*: push, finish, reset, and what they need to begin.
#include "runtime/audio/resampler.h"
#include "runtime/core/memory.h"
#include "runtime/core/model.h"
#include "runtime/core/sample_format.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include <cstring>
#include <new>

using namespace longwave::runtime;
namespace fb = longwave::fb;

namespace {

constexpr uint64_t most_taps = 1 << 20, most_frames = uint64_t{1} << 40;
constexpr uint32_t least_rate = 1000, most_rate = 768000, most_channels = 256;

lw_status invalid(const char *what) { return fail(LW_INVALID_ARGUMENT, {"lw_resampler_options", what}); }
lw_status check_rate(const char *name, uint32_t rate) {
    if (rate == 0) return fail(LW_INVALID_ARGUMENT, {"lw_resampler_options.", name, " is not set"});
    if (rate >= least_rate && rate <= most_rate) return LW_OK;
    return fail(LW_INVALID_ARGUMENT,
                {"lw_resampler_options.", name, " is ", rate, " Hz; from ", least_rate, " to ", most_rate});
}

// Checks the options and fills in what is left out.
lw_status read(const lw_resampler_options *given, lw_resampler_options *options) {
    if (!given) return invalid(" is NULL; set at least format, rate_in and rate_out");
    if (lw_status status = read_options(given, options, "lw_resampler_options")) return status;
    if (lw_status status = read_format("lw_resampler_options", fb::InputKind::audio, &options->format))
        return status;
    if (options->format == LW_I32) return invalid(".format is LW_I32; audio is LW_S16 or LW_F32");
    if (lw_status status = check_rate("rate_in", options->rate_in)) return status;
    if (lw_status status = check_rate("rate_out", options->rate_out)) return status;
    if (options->channels == 0) options->channels = 1;
    if (options->channels > most_channels)
        return fail(LW_INVALID_ARGUMENT, {options->channels, " channels; at most ", most_channels});
    const Ratio ratio(options->rate_in, options->rate_out);
    if (uint64_t{ratio.phases} * Span(ratio).taps() > most_taps)
        return fail(
            LW_UNSUPPORTED,
            {"from ", options->rate_in, " to ", options->rate_out,
             " Hz: the common divisor of the rates is too small, the filter would need more than 4 MiB"});
    return LW_OK;
}

uint64_t lay_out(const Ratio &ratio, const Span &span, uint8_t *memory, lw_resampler *resampler) {
    Parts parts(memory);
    parts.take<lw_resampler>(1);
    float *taps = parts.take<float>(uint64_t{ratio.phases} * span.taps());
    float *frames = parts.take<float>(span.taps() + piece);
    if (resampler) {
        resampler->taps = taps;
        resampler->frames = frames;
    }
    return parts.used();
}

// As if zeros had come before the first frame.
void clear(lw_resampler &r) {
    memset(r.frames, 0, r.span.before * sizeof *r.frames);
    r.have = r.span.before;
    r.first = r.phase = 0;
    r.finished = false;
    r.taken = r.given = r.non_finite = 0;
}

// Looks at the bits, as core/samples.cc does, for the library may be compiled with -ffast-math.
float finite(const uint8_t *at, uint64_t *bad) {
    constexpr uint32_t magnitude = 0x7fffffff, most = 0x49742400; // 1e6
    uint32_t bits;
    float value = 0;
    memcpy(&bits, at, sizeof bits);
    if ((bits & magnitude) > most) ++*bad;
    else memcpy(&value, &bits, sizeof value);
    return value;
}

// The mean of each frame's channels.
void mix(lw_resampler &r, const uint8_t *from, uint32_t frames, float *to) {
    const uint32_t channels = r.channels;
    if (r.format == LW_S16) {
        const float scale = 1.0f / (32768.0f * static_cast<float>(channels));
        for (uint32_t i = 0; i < frames; ++i) {
            int32_t sum = 0;
            for (uint32_t c = 0; c < channels; ++c, from += 2) {
                int16_t sample;
                memcpy(&sample, from, sizeof sample);
                sum += sample;
            }
            to[i] = static_cast<float>(sum) * scale;
        }
        return;
    }
    for (uint32_t i = 0; i < frames; ++i) {
        float sum = 0;
        for (uint32_t c = 0; c < channels; ++c, from += 4) sum += finite(from, &r.non_finite);
        to[i] = sum / static_cast<float>(channels);
    }
}

// Outputs that `frames` more frames complete.
uint64_t outputs_of(const lw_resampler &r, uint64_t frames) {
    const uint64_t read = uint64_t{r.first} + r.span.taps(), there = r.have + frames;
    if (there < read) return 0;
    const uint64_t places = (there - read + 1) * r.ratio.phases - 1; // that lie before the last frame's end
    return places < r.phase ? 0 : (places - r.phase) / r.ratio.step + 1;
}

// Gives every output whose frames are there.
float *give(lw_resampler &r, float *out) {
    const uint32_t n = r.span.taps();
    while (r.first + n <= r.have) {
        *out++ = dot(r.taps + uint64_t{r.phase} * n, r.frames + r.first, n);
        const uint64_t next = uint64_t{r.phase} + r.ratio.step;
        r.first += static_cast<uint32_t>(next / r.ratio.phases);
        r.phase = static_cast<uint32_t>(next % r.ratio.phases);
    }
    return out;
}

// Takes frames, piece by piece. `samples` null: zeros.
void take(lw_resampler &r, const uint8_t *samples, uint64_t frames, float *out) {
    const uint64_t frame_bytes = r.channels * sample_bytes(r.format);
    while (frames > 0) {
        // An output reads more frames than it is on from the one before, so `first` is within `have`.
        memmove(r.frames, r.frames + r.first, (r.have - r.first) * sizeof *r.frames);
        r.have -= r.first;
        r.first = 0;
        const uint32_t now = frames < piece ? static_cast<uint32_t>(frames) : piece;
        float *to = r.frames + r.have;
        if (samples) mix(r, samples, now, to);
        else memset(to, 0, now * sizeof *to);
        r.have += now;
        if (samples) samples += now * frame_bytes;
        frames -= now;
        out = give(r, out);
    }
}

lw_status too_small(uint64_t needed, uint64_t capacity) {
    return fail(LW_TOO_SMALL, {"the outputs are ", needed, ", room is for ", capacity});
}

} // namespace

lw_status lw_resampler_size(const lw_resampler_options *given, size_t *size, size_t *alignment) {
    if (!size || !alignment) return fail(LW_INVALID_ARGUMENT, "size or alignment is NULL");
    lw_resampler_options options;
    if (lw_status status = read(given, &options)) return status;
    const Ratio ratio(options.rate_in, options.rate_out);
    *size = to_size(lay_out(ratio, Span(ratio), nullptr, nullptr));
    *alignment = line;
    return LW_OK;
}

lw_status lw_resampler_init(const lw_resampler_options *given, void *memory, size_t size,
                            lw_resampler **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    lw_resampler_options options;
    if (lw_status status = read(given, &options)) return status;
    if (!memory || reinterpret_cast<uintptr_t>(memory) % line != 0)
        return fail(LW_INVALID_ARGUMENT, {"memory is NULL or not aligned to ", uint64_t(line)});
    const Ratio ratio(options.rate_in, options.rate_out);
    const Span span(ratio);
    const uint64_t needed = lay_out(ratio, span, nullptr, nullptr);
    if (size < needed)
        return fail(LW_TOO_SMALL, {"a resampler needs ", needed, " bytes, given ", uint64_t(size)});
    lw_resampler *r = new (memory) lw_resampler{
        ratio, span, options.format, options.channels, nullptr, nullptr, 0, 0, 0, false, 0, 0, 0, 0, {}};
    lay_out(ratio, span, static_cast<uint8_t *>(memory), r);
    design(ratio, span, r->taps);
    clear(*r);
    *out = r;
    return LW_OK;
}

void lw_resampler_destroy(lw_resampler *resampler) {
    if (!resampler || resampler->owned_bytes == 0) return;
    const lw_allocator allocator = resampler->allocator;
    Block block{reinterpret_cast<uint8_t *>(resampler), resampler->owned_bytes};
    block.release(allocator);
}

lw_status lw_resampler_push(lw_resampler *resampler, const void *samples, size_t frames, float *out,
                            size_t capacity, size_t *n) {
    if (!resampler || !n || (frames > 0 && !samples) || (capacity > 0 && !out))
        return fail(LW_INVALID_ARGUMENT, "resampler, samples, out or n is NULL");
    *n = 0;
    if (resampler->finished) return fail(LW_WRONG_STATE, "the resampler is finished: reset it first");
    if (frames > most_frames)
        return fail(LW_INVALID_ARGUMENT, {uint64_t(frames), " frames in one call; at most ", most_frames});
    const uint64_t outputs = outputs_of(*resampler, frames);
    *n = to_size(outputs);
    if (outputs > capacity) return too_small(outputs, capacity);
    take(*resampler, static_cast<const uint8_t *>(samples), frames, out);
    resampler->taken += frames;
    resampler->given += outputs;
    return LW_OK;
}

lw_status lw_resampler_finish(lw_resampler *resampler, float *out, size_t capacity, size_t *n) {
    if (!resampler || !n || (capacity > 0 && !out))
        return fail(LW_INVALID_ARGUMENT, "resampler, out or n is NULL");
    *n = 0;
    if (resampler->finished) return fail(LW_WRONG_STATE, "the resampler is finished already");
    const uint64_t outputs = outputs_of(*resampler, resampler->span.after);
    *n = to_size(outputs);
    if (outputs > capacity) return too_small(outputs, capacity);
    take(*resampler, nullptr, resampler->span.after, out);
    resampler->given += outputs;
    resampler->finished = true;
    return LW_OK;
}

lw_status lw_resampler_reset(lw_resampler *resampler) {
    if (!resampler) return fail(LW_INVALID_ARGUMENT, "resampler is NULL");
    clear(*resampler);
    return LW_OK;
}

lw_status lw_resampler_get_info(const lw_resampler *resampler, lw_resampler_info *info) {
    if (!resampler) return fail(LW_INVALID_ARGUMENT, "resampler is NULL");
    lw_resampler_info now{};
    now.delay = resampler->span.after;
    now.taken = resampler->taken;
    now.given = resampler->given;
    now.non_finite = resampler->non_finite;
    return copy_sized(info, now) ? LW_OK
                                 : fail(LW_INVALID_ARGUMENT, "info is NULL or its struct_size is not set");
}
