// How far apart float32 computations of a model may be, relative to the peak of an output.
// `rounding` is what rounding every value between ops to float32 does to it, sums still in float64:
// no float32 engine can be better, and models that amplify errors (deep, without norms) amplify
// these.
#pragma once
#include <algorithm>
#include <cmath>

namespace longwave::artifact {

// From float64, where rounding is nothing: four times what shallow models need.
constexpr double shallow_golden_limit = 2e-5;
// Of two orders of computation from each other: five times what was measured on the models here.
constexpr double shallow_stream_limit = 1e-5;

// The error_limit of golden vectors. An engine rounds its sums as well: measured 2 to 4 times as
// much as `rounding`; 8 times are allowed. `terms`: products in the longest sum of a matrix
// multiplication. Roundings of a running sum are a random walk, so it loses as much as the square root of
// its length (Higham and Mary 2019, A New Approach to Probabilistic Rounding Error Analysis).
inline double golden_limit(double rounding, double terms) {
    constexpr double short_sum = 512; // the factor above was measured with
    return shallow_golden_limit + 8 * std::sqrt(std::max(1.0, terms / short_sum)) * rounding;
}

// Where a GPU stores what its kernels hand to each other as float16: `rounding` is what rounding
// those values alone to float16 (unit roundoff 2^-11) does to an output. A device rounds neighbours
// of the same values, so it is off by another draw of the same errors, of which the largest may be
// twice as large; twice that is allowed. `between`: buffers that dispatches of one operation hand
// to each other (a transform's columns and rows), which no value of the graph is: each adds a unit
// roundoff at most.
inline double golden_fp16_limit(double float32, double terms, double rounding, double between) {
    return golden_limit(float32, terms) + 4 * rounding + between / 2048;
}

// Of a stream from the whole, where the error_limit is this: each of the two may be as far off as
// the amplified part allows.
inline double stream_limit(double error_limit) {
    return shallow_stream_limit + 2 * std::max(0.0, error_limit - shallow_golden_limit);
}

} // namespace longwave::artifact
