#include "tests/kernels/integer_products.h"
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace longwave::test {

using namespace schedules;

namespace {

// Rows whose groups are whole steps of their peaks, which are powers of two: rounding changes
// nothing, and all that is left of an error is what scaling, adding sums and the epilogue round.
void fill_with_steps(Kernel &k, const LinearShape &s, int of_activations, int together) {
    std::mt19937 random(static_cast<uint32_t>(s.in + s.rows));
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    for (int r = 0; r < s.rows; r++)
        for (int first = 0; first < s.in; first += together) {
            const int n = std::min(together, s.in - first);
            const double unit = std::ldexp(1.0, (r + first / together) % 5 - 2) / of_activations;
            for (int i = 0; i < n; i++)
                k["x"].set({first + i, r}, unit * (below(2 * of_activations + 1) - of_activations));
            k["x"].set({first + below(n), r}, unit * (r % 2 ? of_activations : -of_activations));
        }
}

// The largest error of an output, as a part of what it may be: `limit` times the sum over its
// groups of their largest activation times the sum of |weights|.
double worst_error(Kernel &k, const LinearShape &s, const WeightMatrix &matrix, int together, double limit) {
    double worst = 0;
    const Tensor &x = k["x"];
    for (int r = 0; r < s.rows; r++)
        for (int o = 0; o < s.out; o++) {
            double allowed = 0;
            for (int first = 0; first < s.in; first += together) {
                double peak = 0, weights = 0;
                for (int i = first; i < std::min(first + together, s.in); i++) {
                    peak = std::max(peak, std::fabs(x.get({i, r})));
                    weights += std::fabs(matrix[static_cast<size_t>(o)][static_cast<size_t>(i)]);
                }
                allowed += limit * peak * weights;
            }
            const double expected = dot(matrix, o, [&](int i) { return x.get({i, r}); });
            worst = std::max(worst, std::fabs(k["y"].get({o, r}) - expected) / allowed);
        }
    return worst;
}

} // namespace

void run_on_cpus(const std::vector<Case> &cases) {
    REQUIRE(!gpu_under_test());
    run_everywhere(cases, {.named = true});
}

std::string IntegerProducts::spec_of(const LinearShape &s) const {
    return spec(
        "linear",
        fmt::format(R"("in":{},"out":{},"rows":{},"bias":{},"glu":{},"weights":"{}","activations":"{}")",
                    s.in, s.out, s.rows, int(s.bias), int(s.glu), weights, activations));
}

PackedPanels IntegerProducts::packed(const LinearShape &s, const WeightMatrix &matrix) const {
    PackedPanels made({static_cast<uint32_t>(s.in), static_cast<uint32_t>(s.out), s.glu ? 2u : 1u, format});
    std::vector<uint32_t> inputs(static_cast<size_t>(s.in));
    std::iota(inputs.begin(), inputs.end(), 0u);
    for (size_t o = 0; o < matrix.size(); o++) {
        const auto row = static_cast<uint32_t>(o);
        made.set(row % made.panels.out, row / made.panels.out, matrix[o], inputs);
    }
    return made;
}

void IntegerProducts::put(Kernel &k, const LinearShape &s, const WeightMatrix &matrix,
                          int of_activations) const {
    const PackedPanels made = packed(s, matrix);
    std::memcpy(k["w"].data(), made.words.data(), made.words.size() * sizeof(uint32_t));
    std::memcpy(k["scale"].data(), made.scales.data(), made.scales.size() * sizeof(float));
    k["steps"].set({0}, of_activations);
}

Case IntegerProducts::exact(const LinearShape &s) const {
    return {spec_of(s), [s, format = *this](Kernel &k) {
                const WeightMatrix matrix = format.random(s, static_cast<uint32_t>(s.in * 1000 + s.out));
                format.put(k, s, matrix, format.steps);
                fill_with_steps(k, s, format.steps, format.together ? format.together : s.in);
                if (s.bias) zero_padding(k["bias"], s.out, padded(s.out));
                const Tensor &x = k["x"];
                const auto sum = [&](int o, int half, int r) {
                    const double bias = s.bias ? k["bias"].get({o + half * padded(s.out)}) : 0;
                    return bias + dot(matrix, o + half * s.out, [&](int i) { return x.get({i, r}); });
                };
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= s.out) return 0.0;
                        const double value = sum(at[0], 0, at[1]);
                        return s.glu ? value * logistic(sum(at[0], 1, at[1])) : value;
                    },
                    limit(format.sums(s.in), s.glu ? 2 : 0.5));
            }};
}

Case IntegerProducts::largest(const LinearShape &s, const WeightMatrix &matrix, int of_activations,
                              double tolerance) const {
    return {spec_of(s), [=, format = *this](Kernel &k) {
                format.put(k, s, matrix, of_activations);
                const auto peak = [](int row) { return row % 2 ? -3.0 : 3.0; };
                k["x"].for_each([&](const std::vector<int> &at) { k["x"].set(at, peak(at[1])); });
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        return dot(matrix, at[0], [&](int) { return peak(at[1]); });
                    },
                    tolerance);
            }};
}

Case IntegerProducts::within_half_a_step(const LinearShape &s,
                                         const std::vector<int> &steps_of_activations) const {
    return {spec_of(s), [=, format = *this](Kernel &k) {
                const WeightMatrix matrix = format.random(s, 7);
                for (const int most : steps_of_activations) {
                    format.put(k, s, matrix, most);
                    REQUIRE(k.call() == 0);
                    const double worst = worst_error(k, s, matrix, format.together ? format.together : s.in,
                                                     0.5 / most + format.float32_rounding);
                    CHECK(worst <= 1);
                    CHECK(worst > 0.01); // the limit is of the size of what it limits
                }
            }};
}

void IntegerProducts::check_bits_of_a_row() const {
    constexpr int in = 320, out = 96;
    std::vector<std::vector<float>> first; // of each level
    for (const int rows : {1, 2, 5, 16, 50}) {
        const LinearShape s{in, out, rows};
        size_t level = 0;
        run_on_cpus({{spec_of(s), [&](Kernel &k) {
                          put(k, s, random({in, out, 1}, 3), most_steps);
                          std::mt19937 generator(9);
                          for (int i = 0; i < in; i++) {
                              const double value = std::ldexp(static_cast<double>(generator()), -31) - 1;
                              k["x"].set({i, rows - 1}, value);
                          }
                          REQUIRE(k.call() == 0);
                          const auto *all = reinterpret_cast<const float *>(k["y"].data());
                          const std::vector<float> last(all + (rows - 1) * out, all + rows * out);
                          if (level == first.size()) first.push_back(last);
                          CHECK(std::memcmp(first[level++].data(), last.data(), out * sizeof(float)) == 0);
                      }}});
    }
}

void IntegerProducts::check_edges() const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const LinearShape s{100, 40, 6, true, false};
    run_on_cpus({{spec_of(s), [&](Kernel &k) {
                      put(k, s, random(s, 3), most_steps);
                      for (int i = 0; i < s.in; i++) k["x"].set({i, 0}, 0), k["x"].set({i, 1}, 1e-36 * i);
                      k["x"].set({99, 2}, std::nan(""));
                      k["x"].set({0, 3}, infinite);
                      k["x"].set({50, 4}, -infinite);
                      REQUIRE(k.call() == 0);
                      for (int o = 0; o < s.out; o++) {
                          const double bias = k["bias"].get({o});
                          CHECK(k["y"].get({o, 0}) == bias);
                          CHECK(k["y"].get({o, 1}) == bias);
                          for (const int r : {2, 3, 4}) CHECK(!std::isfinite(k["y"].get({o, r})));
                          CHECK(std::isfinite(k["y"].get({o, 5})));
                      }
                  }}});
}

} // namespace longwave::test
