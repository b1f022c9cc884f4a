// The sample rate of an output whose rows are audio: that of the input, times samples per tick.
#pragma once
#include "formats/package/package.h"
#include <optional>

namespace longwave::package {

// Samples per second of rows of `width` samples, `num` rows in `den` ticks, for each second of which
// the input has `rate` ticks. As a fraction in lowest terms it has the denominator 1, or there is
// none.
inline std::optional<uint32_t> samples_per_second(uint32_t rate, uint32_t width, uint32_t num, uint32_t den) {
    const uint64_t ticks = uint64_t{rate} * width; // below 2^20 times 2^24
    if (den == 0 || num == 0 || ticks > UINT64_MAX / num || ticks * num % den != 0) return std::nullopt;
    const uint64_t samples = ticks * num / den;
    return samples <= UINT32_MAX ? std::optional(static_cast<uint32_t>(samples)) : std::nullopt;
}

// The first input that says how many ticks a second has; 0: none does. All inputs have the same.
inline uint32_t ticks_per_second(const Package &package) {
    for (const Input &input : package.inputs)
        if (input.sample_rate) return input.sample_rate;
    return 0;
}

// Of an output with these rows: what it says, or what follows from the inputs. 0: no audio.
inline uint32_t sample_rate_of(const Package &package, const std::string &name, uint32_t width, uint32_t num,
                               uint32_t den) {
    for (const Output &output : package.outputs) {
        if (output.name != name || !output.audio) continue;
        return output.sample_rate
                   ? output.sample_rate
                   : samples_per_second(ticks_per_second(package), width, num, den).value_or(0);
    }
    return 0;
}

} // namespace longwave::package
