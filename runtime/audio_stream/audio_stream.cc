// lw_audio_stream_*: samples in, samples out.
#include "runtime/audio_stream/audio_stream.h"
#include "runtime/core/samples.h"
#include "runtime/stream/state.h"
#include <cstring>

using namespace longwave;
using namespace longwave::runtime;

namespace {

lw_status takes_input(const lw_audio_stream &audio) {
    const lw_stream &stream = *audio.listener.stream;
    if (stream.state->life == Life::failed) return not_open(stream);
    return audio.now.total == UINT64_MAX ? LW_OK : fail(LW_WRONG_STATE, "the audio stream is finished");
}

// Where the caller's samples go.
struct Target {
    uint8_t *to;
    lw_sample_format format;

    void put(float sample) {
        if (format == LW_F32) {
            memcpy(to, &sample, sizeof sample);
            to += sizeof sample;
            return;
        }
        // Halves away from zero; full scale clips.
        const float scaled = sample * 32768;
        const int16_t value = scaled >= 32767    ? int16_t{32767}
                              : scaled <= -32768 ? int16_t{-32768}
                                                 : static_cast<int16_t>(scaled + (scaled < 0 ? -0.5f : 0.5f));
        memcpy(to, &value, sizeof value);
        to += sizeof value;
    }
};

// What can be computed without more input, until a sample waits: the ticks that had no room before,
// and the end. Behind the last of the stream there is silence.
lw_status go_on(lw_audio_stream &audio) {
    AudioProgress &now = audio.now;
    if (now.total == UINT64_MAX) return feed_held(audio);
    while (audio.waiting.count() == 0 && now.ending != Ending::done) {
        lw_status status = LW_OK;
        if (now.ending < Ending::rows) status = end_samples(audio);
        else if (now.ending == Ending::rows) status = hear_rows(audio);
        else status = end_filter(audio);
        if (status != LW_OK && status != LW_AGAIN) return status;
    }
    return LW_OK;
}

// Zeros that stand for samples which are not there: those that come first, those of a live stream
// that began anew, and those behind the last.
bool gives_zero(lw_audio_stream &audio) {
    AudioProgress &now = audio.now;
    if (now.silence > 0) {
        --now.silence;
        return true;
    }
    if (audio.waiting.count() > 0) return false;
    if (now.ending == Ending::done) return true;
    if (!audio.shape.live) return false;
    ++now.debt;
    return true;
}

// Up to `most` samples that are ready; *n: how many.
lw_status give(lw_audio_stream &audio, Target &target, size_t most, size_t *n) {
    AudioProgress &now = audio.now;
    uint64_t last = now.total; // a live stream gives for what it took, and no more
    if (audio.shape.live && last == UINT64_MAX)
        last = scaled_down(now.taken, audio.shape.rate_out, audio.shape.rate_in);
    for (; *n < most && now.given < last; ++*n, ++now.given) {
        if (now.silence == 0 && audio.waiting.count() == 0)
            if (lw_status status = go_on(audio)) return status;
        if (gives_zero(audio)) target.put(0);
        else if (audio.waiting.count() > 0) target.put(audio.waiting.take());
        else break;
    }
    return LW_OK;
}

} // namespace

namespace longwave::runtime {

void begin(lw_audio_stream &audio) {
    audio.now = AudioProgress{};
    audio.now.next = audio.shape.lag;
    audio.now.silence = audio.shape.live ? audio.shape.latency : 0;
    audio.waiting.clear();
    begin(audio.listener);
    if (audio.before) lw_resampler_reset(audio.before);
    if (audio.after) lw_resampler_reset(audio.after);
}

} // namespace longwave::runtime

lw_status lw_audio_stream_push(lw_audio_stream *stream, const void *samples, size_t n, size_t *taken) {
    size_t ignored;
    if (!taken) taken = &ignored;
    *taken = 0;
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    if (n > 0 && !samples) return fail(LW_INVALID_ARGUMENT, "samples is NULL");
    if (lw_status status = takes_input(*stream)) return status;
    return take_samples(*stream, static_cast<const uint8_t *>(samples), n, taken);
}

lw_status lw_audio_stream_pull(lw_audio_stream *stream, void *samples, size_t capacity, size_t *n) {
    if (n) *n = 0;
    if (!stream || !n || (capacity > 0 && !samples))
        return fail(LW_INVALID_ARGUMENT, "stream, samples or n is NULL");
    if (stream->listener.stream->state->life == Life::failed) return not_open(*stream->listener.stream);
    Target target = {static_cast<uint8_t *>(samples), stream->format};
    if (lw_status status = give(*stream, target, capacity, n)) return status;
    if (*n > 0) return LW_OK;
    return without_detail(stream->now.given >= stream->now.total ? LW_END : LW_AGAIN);
}

lw_status lw_audio_stream_process(lw_audio_stream *stream, const void *in, void *out, size_t n) {
    if (!stream || !in || !out) return fail(LW_INVALID_ARGUMENT, "stream, in or out is NULL");
    Target target = {static_cast<uint8_t *>(out), stream->format};
    const size_t bytes = sample_bytes(stream->format);
    const AudioShape &shape = stream->shape;
    const AudioProgress &now = stream->now;
    lw_status status = takes_input(*stream);
    if (!status && (!shape.live || shape.rate_in != shape.rate_out))
        status = fail(LW_WRONG_STATE, "process needs lw_audio_stream_options.live and equal rates");
    if (!status && now.given != now.taken)
        status = fail(LW_WRONG_STATE, "pushed samples were not pulled yet");
    size_t given = 0;
    for (size_t taken = 0; !status && given < n;) {
        size_t piece = 0, ready = 0;
        const size_t before = given;
        status = take_samples(*stream, static_cast<const uint8_t *>(in) + taken * bytes, n - taken, &piece);
        taken += piece;
        // What was taken has been read, so its place may be written. Also before a failure.
        const lw_status gave = give(*stream, target, taken - given, &ready);
        given += ready;
        if (!status) status = gave;
        if (!status && piece == 0 && given == before)
            status = fail(LW_WRONG_STATE, "the audio stream has no room");
    }
    for (; given < n; ++given) target.put(0);
    return status;
}

lw_status lw_audio_stream_finish(lw_audio_stream *stream) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    if (lw_status status = takes_input(*stream)) return status;
    stream->now.total = scaled_up(stream->now.taken, stream->shape.rate_out, stream->shape.rate_in);
    return LW_OK;
}

lw_status lw_audio_stream_reset(lw_audio_stream *stream) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    begin(*stream);
    return lw_stream_reset(stream->listener.stream);
}

lw_status lw_audio_stream_set(lw_audio_stream *stream, const char *scalar, float value) {
    return stream ? lw_stream_set(stream->listener.stream, scalar, value)
                  : fail(LW_INVALID_ARGUMENT, "stream is NULL");
}

uint32_t lw_audio_stream_latency(const lw_audio_stream *stream) { return stream ? stream->shape.latency : 0; }

lw_status lw_audio_stream_get_info(const lw_audio_stream *stream, lw_audio_stream_info *info) {
    if (!stream) return fail(LW_INVALID_ARGUMENT, "stream is NULL");
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    if (lw_status status = stats_of(stream->listener, &stats)) return status;
    lw_audio_stream_info now{};
    now.rate_in = stream->shape.rate_in;
    now.rate_out = stream->shape.rate_out;
    now.latency = stream->shape.latency;
    now.taken = stream->now.taken;
    now.given = stream->now.given;
    now.non_finite = stats.non_finite;
    now.resets = stats.resets;
    if (stream->before) {
        lw_resampler_info filter{};
        filter.struct_size = sizeof filter;
        if (lw_status status = lw_resampler_get_info(stream->before, &filter)) return status;
        now.non_finite += filter.non_finite;
    }
    return copy_sized(info, now) ? LW_OK
                                 : fail(LW_INVALID_ARGUMENT, "info is NULL or its struct_size is not set");
}
