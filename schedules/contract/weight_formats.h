// How the weights of a product are stored: as float32, or in a half, a quarter or an eighth of its
// bytes. Only storage: kernels widen the numbers in registers and all sums stay float32. No Halide.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace longwave::schedules {

enum class WeightFormat : uint8_t {
    float32,
    bf16, // the upper 16 bits of a float32, rounded to nearest, ties to even
    int8, // −127 … 127 times a float32 scale of each output: largest magnitude of its weights / 127
    int4  // −7 … 7 times a float32 scale of each group of 32 inputs of an output: its largest magnitude / 7
};

// What every product takes. Kernels read int4 for rows of int16 alone (Product::integer).
inline constexpr WeightFormat weight_formats[] = {WeightFormat::float32, WeightFormat::bf16,
                                                  WeightFormat::int8};
const char *name_of(WeightFormat format); // "float32", "bf16", "int8", "int4"
std::optional<WeightFormat> find_weight_format(std::string_view name);
inline constexpr const char *weight_format_names = "float32, bf16, int8 or int4"; // for messages

// Kernels read 32-bit words: so many weights in one, the first in the lowest bits.
constexpr uint32_t weights_of_word(WeightFormat format) {
    switch (format) {
    case WeightFormat::float32: return 1;
    case WeightFormat::bf16: return 2;
    case WeightFormat::int8: return 4;
    case WeightFormat::int4: return 8;
    }
    return 1;
}

// The nearest bf16, rounded once from float64. Infinite where it is beyond the largest; zero where
// it would be subnormal, as kernels would take it.
double nearest_bf16(double value);

// Of an output whose largest weight has this magnitude; 0 where the weights are so small (below
// 1.5e-36) that the scale would be subnormal: then they are all zero.
float int8_scale(double largest);
// The nearest of −127 … 127 times the scale, ties to even.
int int8_steps(double value, float scale);

// The same for a group of int4, −7 … 7. Every sum of a group fits an int32 with
// most_activation_steps.
inline constexpr uint32_t int4_group = 32; // inputs
float int4_scale(double largest);
int int4_steps(double value, float scale);

// Taps of a convolution as int8: a scale for each group of 32 taps of a channel, because taps decay.
inline constexpr int int8_taps = 32;

// Where kernels multiply weights as integers, they round each row of activations to whole steps:
// so many of its largest magnitude. With int16 activations all sums of an output must fit an int32.
// `heaviest`: the largest sum over an output of |int8_steps|. 0: there would be fewer than
// `least_activation_steps`, and rows stay float32.
int activation_steps(uint64_t heaviest);
inline constexpr int most_activation_steps = 127 * 256, // two digits of −127 … 127
    least_activation_steps = 2048;
// The same for int8 activations: 127, or 0.
inline constexpr int byte_activation_steps = 127;
int activation_steps_of_byte(uint64_t heaviest);
// Inputs that have a unit of their own: int4_group with int4 weights and int8 activations. 0: a row
// has one.
inline uint32_t inputs_of_unit(WeightFormat format, int steps) {
    return format == WeightFormat::int4 && steps == byte_activation_steps ? int4_group : 0;
}
// Of one output.
uint64_t int8_heaviness(std::span<const double> row);

// The bits of one weight as they lie in a word, in the lowest bits; of int4 eight more than its
// steps. `value` is rounded as above; a value that has been rounded keeps its bits.
uint32_t stored_bits(WeightFormat format, double value, float scale);

} // namespace longwave::schedules
