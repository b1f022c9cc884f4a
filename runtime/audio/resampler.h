// A resampler: its filter, and the newest frames of one channel.
//
//   | lw_resampler | taps | frames: what the next output reads, and up to `piece` more |
#pragma once
#include "longwave/resampler.h"
#include "runtime/audio/filter.h"

namespace longwave::runtime {

inline constexpr uint32_t piece = 256; // frames that are taken at a time

} // namespace longwave::runtime

struct lw_resampler {
    longwave::runtime::Ratio ratio;
    longwave::runtime::Span span;
    lw_sample_format format;
    uint32_t channels;
    float *taps;           // [phases][taps]
    float *frames;         // [span.taps() + piece]
    uint32_t have;         // of them
    uint32_t first, phase; // the next output: the first frame that it reads, and its taps
    bool finished;
    uint64_t taken, given, non_finite;
    uint64_t owned_bytes; // that lw_resampler_destroy releases; 0: the caller's memory
    lw_allocator allocator;
};
