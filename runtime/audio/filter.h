// The low-pass filter between two sample rates: a sinc under a Kaiser window, one set of taps for
// each place that an output can have between two inputs.
#pragma once
#include <cstdint>

namespace longwave::runtime {

// Output k lies at input k·step / phases: `index` frames in, and `phase` / phases of a frame on.
struct Ratio {
    uint32_t phases, step; // rate_out and rate_in without their common divisor
    Ratio(uint32_t rate_in, uint32_t rate_out);
};

// An output reads `before` frames before its index and `after` frames behind it.
struct Span {
    uint32_t before, after;
    explicit Span(const Ratio &ratio);
    uint32_t taps() const { return before + 1 + after; } // a multiple of tap_lanes
};
inline constexpr uint32_t tap_lanes = 8;

// Fills in the taps, [phases][taps].
void design(const Ratio &ratio, const Span &span, float *taps);

// The sum of n products, n a multiple of tap_lanes: the same bits on every CPU.
float dot(const float *taps, const float *frames, uint32_t n);

} // namespace longwave::runtime
