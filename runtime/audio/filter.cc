#include "runtime/audio/filter.h"
#include <cstring>

namespace longwave::runtime {
namespace {

// Attenuation of the design, 6 dB more than promised, and the edges of the pass-band and the
// stop-band in parts of the lower Nyquist frequency.
constexpr double attenuation = 106, pass = 0.9, stop = 1;
constexpr double pi = 3.14159265358979323846;
// Kaiser and Schafer 1980: shape of the window, and its length for a transition of 1 radian a frame.
constexpr double beta = 0.1102 * (attenuation - 8.7), length = (attenuation - 7.95) / 2.285;

// Frames of the input for one of the lower rate.
double lower_period(const Ratio &ratio) {
    return ratio.step > ratio.phases ? static_cast<double>(ratio.step) / ratio.phases : 1;
}

// sin(pi x), by its series after x is taken to within half of a whole number. |x| < 2^31.
double sin_pi(double x) {
    const auto whole = static_cast<int32_t>(x < 0 ? x - 0.5 : x + 0.5);
    const double r = pi * (x - whole), square = r * r;
    double term = r, sum = r;
    for (int n = 2; n < 24; n += 2) sum += term *= -square / (n * (n + 1));
    return whole % 2 ? -sum : sum;
}

// The modified Bessel function I0 of x, of x squared: all terms are positive.
double bessel(double square) {
    double term = 1, sum = 1;
    for (int n = 1; n < 60; ++n) sum += term *= square / 4 / (n * n);
    return sum;
}

// The filter at `t` frames from its middle; its window ends at `half`.
double kernel(double t, double half, double cutoff) {
    const double at = t / half;
    if (at <= -1 || at >= 1) return 0;
    const double x = 2 * cutoff * t;
    const double sinc = x > -1e-9 && x < 1e-9 ? 1 : sin_pi(x) / (pi * x);
    return sinc * bessel(beta * beta * (1 - at * at));
}

uint32_t common_divisor(uint32_t a, uint32_t b) {
    while (b > 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

} // namespace

Ratio::Ratio(uint32_t rate_in, uint32_t rate_out) {
    const uint32_t divisor = common_divisor(rate_in, rate_out);
    phases = rate_out / divisor;
    step = rate_in / divisor;
}

// At equal rates an output is the frame itself.
Span::Span(const Ratio &ratio) : before(tap_lanes - 1), after(0) {
    if (ratio.phases == ratio.step) return;
    const double frames = length / (pi * (stop - pass)) * lower_period(ratio);
    const uint32_t half_lanes = tap_lanes / 2;
    after = (static_cast<uint32_t>(frames / 2) / half_lanes + 1) * half_lanes;
    before = after - 1;
}

void design(const Ratio &ratio, const Span &span, float *taps) {
    const uint32_t n = span.taps();
    if (span.after == 0) {
        for (uint32_t i = 0; i < n; ++i) taps[i] = i == span.before ? 1.0f : 0.0f;
        return;
    }
    const double cutoff = (pass + stop) / 4 / lower_period(ratio);
    for (uint32_t phase = 0; phase < ratio.phases; ++phase, taps += n) {
        const double shift = static_cast<double>(phase) / ratio.phases + span.before;
        double sum = 0;
        for (uint32_t i = 0; i < n; ++i) sum += kernel(i - shift, span.after, cutoff);
        // Of a constant every phase makes the same constant.
        for (uint32_t i = 0; i < n; ++i)
            taps[i] = static_cast<float>(kernel(i - shift, span.after, cutoff) / sum);
    }
}

float dot(const float *taps, const float *frames, uint32_t n) {
    using Lanes = float __attribute__((vector_size(4 * tap_lanes)));
    Lanes sum = {};
    for (uint32_t i = 0; i < n; i += tap_lanes) {
        Lanes a, b;
        memcpy(&a, taps + i, sizeof a);
        memcpy(&b, frames + i, sizeof b);
        sum += a * b;
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

} // namespace longwave::runtime
