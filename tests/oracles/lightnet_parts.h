// What the kinds of LightNet fixtures have in common.
#pragma once
#include "tests/oracles/kinds.h"
#include <functional>
#include <span>

namespace longwave::oracles::lightnet {

// Suggested by the fixtures' makers for float32, relative to the peak.
inline constexpr double layer_limit = 1e-5, model_limit = 2e-5, stream_limit = 5e-5, position_limit = 2e-6;

// A lightnet_attention layer for weights under `prefix`, its options from the configuration of
// either library. `theta`: the key of Θ.
Expected<nlohmann::json> attention(const Fixture &fixture, const std::string &prefix,
                                   const std::string &theta);

double largest(std::span<const float> values);
nlohmann::json input(size_t width);
// One more sequence of rows, from numbers of [rows][width].
void add_sequence(Trial &trial, size_t rows, std::vector<float> numbers);
// A comparison without references yet.
Comparison &expect(Trial &trial, const std::string &what, double peak, double limit);
// ref.<what> (B, …) against the output of that name, one part a sequence; nothing where there is
// none.
Status expect_all(const Fixture &fixture, const std::string &what, double limit, Trial &trial);

// [out, in], element by element.
package::Tensor matrix(size_t out, size_t in, const std::function<float(size_t row, size_t column)> &value);

} // namespace longwave::oracles::lightnet
