// An audio stream: a listener, the samples of one of its outputs, and resamplers on both sides where
// rates differ. The parts follow in the same block:
//
//   | lw_audio_stream | waiting | ticks | piece | resamplers | stream |
//
//   pushed samples -> [resampler] -> ticks of the stream -> rows -> [resampler] -> waiting -> pull
#pragma once
#include "longwave/audio_stream.h"
#include "longwave/resampler.h"
#include "runtime/audio_stream/waiting.h"
#include "runtime/listen/listener.h"

namespace longwave::runtime {

inline constexpr uint32_t samples_at_once = 64; // of a row, to the resampler

// What does not change. Positions and sizes are those of a model's rows: `width` samples each.
struct AudioShape {
    uint32_t model_in, model_out; // Hz
    uint32_t rate_in, rate_out;   // Hz, of the caller
    uint32_t width, lag;
    uint64_t clock_num, clock_den; // rows in ticks
    uint32_t latency;              // of live streams, in samples of the caller
    uint32_t block_samples;        // the most that may come to wait with one block
    uint32_t piece;                // room for what the resampler gives at once
    uint32_t ticks;                // the same before the model
    bool live;
};

// ⌊n·num/den⌋ and ⌈n·num/den⌉ of rates, exact for every n below 2^62 / num.
inline uint64_t scaled_down(uint64_t n, uint64_t num, uint64_t den) {
    return n / den * num + n % den * num / den;
}
inline uint64_t scaled_up(uint64_t n, uint64_t num, uint64_t den) {
    return n / den * num + (n % den * num + den - 1) / den;
}

// How far the end of the audio has come.
enum class Ending : uint8_t { open, ticks, rows, filter, done };

struct AudioProgress {
    uint64_t taken = 0, given = 0;             // samples of the caller
    uint64_t next = 0;                         // sample of the model that is heard next, its lag included
    uint64_t total = UINT64_MAX;               // samples to give, once the audio is finished
    uint64_t silence = 0;                      // live: zeros that come first
    uint64_t debt = 0;                         // live: zeros given in place of samples that then come late
    uint64_t zeros_left = 0;                   // ticks behind the end
    uint32_t ticks_first = 0, ticks_count = 0; // resampled ticks that the stream has not taken
    Ending ending = Ending::open;
};

} // namespace longwave::runtime

struct lw_audio_stream {
    const lw_model *model;
    uint64_t owned_bytes; // that lw_audio_stream_destroy releases; 0: the caller's memory
    lw_sample_format format;
    longwave::runtime::AudioShape shape;
    longwave::runtime::Listener listener;
    longwave::runtime::Waiting waiting;
    float *ticks, *piece;
    lw_resampler *before, *after; // null at equal rates
    longwave::runtime::AudioProgress now;
};

namespace longwave::runtime {

// As new, but for the stream.
void begin(lw_audio_stream &audio);

// samples_in.cc. Takes samples while there is room for what they bring. *taken: how many.
lw_status take_samples(lw_audio_stream &audio, const uint8_t *samples, size_t n, size_t *taken);
// Feeds resampled ticks that were taken while there was no room.
lw_status feed_held(lw_audio_stream &audio);
// Ends what comes before the model, then feeds what is left and the zeros behind it. LW_AGAIN: more
// is left.
lw_status end_samples(lw_audio_stream &audio);

// samples_out.cc. Turns the rows that wait into samples.
lw_status hear_rows(lw_audio_stream &audio);
// The last samples of the resampler.
lw_status end_filter(lw_audio_stream &audio);

} // namespace longwave::runtime
