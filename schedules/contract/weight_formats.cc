#include "schedules/contract/weight_formats.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace longwave::schedules {

const char *name_of(WeightFormat format) {
    switch (format) {
    case WeightFormat::float32: return "float32";
    case WeightFormat::bf16: return "bf16";
    case WeightFormat::int8: return "int8";
    case WeightFormat::int4: return "int4";
    }
    return "";
}

std::optional<WeightFormat> find_weight_format(std::string_view name) {
    for (const WeightFormat format : weight_formats)
        if (name == name_of(format)) return format;
    if (name == name_of(WeightFormat::int4)) return WeightFormat::int4;
    return std::nullopt;
}

double nearest_bf16(double value) {
    constexpr int dropped = 52 - 7; // bits of a float64's fraction
    constexpr double largest = 0x1.FEp127, smallest = std::numeric_limits<float>::min();
    if (!std::isfinite(value)) return value;
    auto bits = std::bit_cast<uint64_t>(value);
    bits += (uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1); // a carry moves on into the exponent
    bits &= ~((uint64_t{1} << dropped) - 1);
    const auto rounded = std::bit_cast<double>(bits);
    if (std::fabs(rounded) > largest) return std::copysign(std::numeric_limits<double>::infinity(), value);
    return std::fabs(rounded) < smallest ? std::copysign(0.0, value) : rounded;
}

namespace {

float scale_of(double largest, int steps) {
    const auto scale = static_cast<float>(largest / steps);
    return scale < std::numeric_limits<float>::min() ? 0.f : scale;
}

int steps_of(double value, float scale, double most) {
    if (scale == 0) return 0;
    return static_cast<int>(std::clamp(std::nearbyint(value / double{scale}), -most, most));
}

} // namespace

float int8_scale(double largest) { return scale_of(largest, 127); }
int int8_steps(double value, float scale) { return steps_of(value, scale, 127); }
float int4_scale(double largest) { return scale_of(largest, 7); }
int int4_steps(double value, float scale) { return steps_of(value, scale, 7); }

int activation_steps(uint64_t heaviest) {
    const uint64_t most = std::numeric_limits<int32_t>::max() / std::max<uint64_t>(heaviest, 1);
    return most < least_activation_steps ? 0
                                         : static_cast<int>(std::min<uint64_t>(most, most_activation_steps));
}

int activation_steps_of_byte(uint64_t heaviest) {
    return heaviest * byte_activation_steps <= uint64_t{std::numeric_limits<int32_t>::max()}
               ? byte_activation_steps
               : 0;
}

uint64_t int8_heaviness(std::span<const double> row) {
    double largest = 0;
    for (const double weight : row) largest = std::max(largest, std::fabs(weight));
    const float scale = int8_scale(largest);
    uint64_t sum = 0;
    for (const double weight : row) sum += static_cast<uint64_t>(std::abs(int8_steps(weight, scale)));
    return sum;
}

uint32_t stored_bits(WeightFormat format, double value, float scale) {
    switch (format) {
    case WeightFormat::float32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case WeightFormat::bf16: return std::bit_cast<uint32_t>(static_cast<float>(nearest_bf16(value))) >> 16;
    case WeightFormat::int8: return static_cast<uint32_t>(int8_steps(value, scale)) & 0xff;
    case WeightFormat::int4: return static_cast<uint32_t>(int4_steps(value, scale) + 8);
    }
    return 0;
}

} // namespace longwave::schedules
