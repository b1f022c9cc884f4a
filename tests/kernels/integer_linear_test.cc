// Matrix multiplication with integers: int8 weights by rows that the kernel rounds to int16.
// Against float64 sums of the same steps, against the error limit of docs/numerics.md, and at the
// edges: the largest sums that an int32 holds, rows of zeros, and numbers that are not finite.
#include "schedules/contract/panels.h"
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace integer_linear_test {

using namespace longwave::test;
using namespace longwave::schedules;

namespace {

struct Shape {
    int in, out, rows;
    bool bias = false, glu = false;
};

std::string spec_of(const Shape &s) {
    return spec("linear",
                fmt::format(R"("in":{},"out":{},"rows":{},"bias":{},"glu":{},"weights":"int8","activations":"int16")",
                            s.in, s.out, s.rows, int(s.bias), int(s.glu)));
}

// Whole steps of a scale for each output, values then gates.
struct Steps {
    std::vector<std::vector<int>> weights;
    std::vector<float> scales;
};

// Weights that are whole steps already, at least one of them ±127: storing them changes nothing.
Steps random_steps(const Shape &s, uint32_t seed) {
    std::mt19937 random(seed);
    Steps steps;
    for (int o = 0; o < s.out * (s.glu ? 2 : 1); o++) {
        std::vector<int> row(static_cast<size_t>(s.in));
        for (int &step : row) step = static_cast<int>(random() % 255) - 127;
        row[random() % row.size()] = random() % 2 ? 127 : -127;
        steps.weights.push_back(std::move(row));
        steps.scales.push_back(std::ldexp(1.f, -10 - o % 5) / std::sqrt(static_cast<float>(s.in)));
    }
    return steps;
}

Steps equal_steps(const Shape &s, int step) {
    Steps steps;
    for (int o = 0; o < s.out; o++) {
        steps.weights.emplace_back(s.in, o % 2 ? step : -step);
        steps.scales.push_back(0.0625f);
    }
    return steps;
}

void put(Kernel &k, const Shape &s, const Steps &steps, int of_activations) {
    PackedPanels packed({static_cast<uint32_t>(s.in), static_cast<uint32_t>(s.out), s.glu ? 2u : 1u, WeightFormat::int8});
    std::vector<uint32_t> inputs(static_cast<size_t>(s.in));
    std::iota(inputs.begin(), inputs.end(), 0u);
    for (size_t o = 0; o < steps.weights.size(); o++) {
        std::vector<double> row;
        for (const int step : steps.weights[o]) row.push_back(step * double{steps.scales[o]});
        packed.set(static_cast<uint32_t>(o) % packed.panels.out, static_cast<uint32_t>(o) / packed.panels.out, row, inputs);
    }
    std::memcpy(k["w"].data(), packed.words.data(), packed.words.size() * sizeof(uint32_t));
    std::memcpy(k["scale"].data(), packed.scales.data(), packed.scales.size() * sizeof(float));
    k["steps"].set({0}, of_activations);
}

double dot(const Steps &steps, int output, const std::function<double(int)> &x) {
    const std::vector<int> &row = steps.weights[static_cast<size_t>(output)];
    double sum = 0;
    for (size_t i = 0; i < row.size(); i++) sum += row[i] * x(static_cast<int>(i));
    return sum * double{steps.scales[static_cast<size_t>(output)]};
}

// Rows that are whole steps of their peak, a power of two: rounding changes nothing, and all that
// is left of an error is what scaling and the epilogue round.
void fill_with_steps(Kernel &k, const Shape &s, int of_activations) {
    std::mt19937 random(static_cast<uint32_t>(s.in + s.rows));
    for (int r = 0; r < s.rows; r++) {
        const double unit = std::ldexp(1.0, r % 5 - 2) / of_activations;
        for (int i = 0; i < s.in; i++)
            k["x"].set({i, r}, unit * (static_cast<int>(random() % static_cast<uint32_t>(2 * of_activations + 1)) - of_activations));
        k["x"].set({static_cast<int>(random() % static_cast<uint32_t>(s.in)), r}, unit * (r % 2 ? of_activations : -of_activations));
    }
}

Case exact(const Shape &s) {
    return {spec_of(s), [=](Kernel &k) {
                constexpr int of_activations = 1 << 13;
                const Steps steps = random_steps(s, static_cast<uint32_t>(s.in * 1000 + s.out));
                put(k, s, steps, of_activations);
                fill_with_steps(k, s, of_activations);
                if (s.bias) zero_padding(k["bias"], s.out, padded(s.out));
                const auto sum = [&](int o, int half, int r) {
                    const double bias = s.bias ? k["bias"].get({o + half * padded(s.out)}) : 0;
                    return bias + dot(steps, o + half * s.out, [&](int i) { return k["x"].get({i, r}); });
                };
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= s.out) return 0.0;
                        const double value = sum(at[0], 0, at[1]);
                        return s.glu ? value * logistic(sum(at[0], 1, at[1])) : value;
                    },
                    limit(1, s.glu ? 2 : 0.5));
            }};
}

// The largest sums: all weights ±127, all activations at their peak.
Case largest(int in, int rows) {
    const Shape s{in, 32, rows};
    return {spec_of(s), [=](Kernel &k) {
                const int of_activations = activation_steps(uint64_t{127} * static_cast<uint64_t>(in));
                REQUIRE(of_activations >= least_activation_steps);
                const Steps steps = equal_steps(s, 127);
                put(k, s, steps, of_activations);
                k["x"].for_each([&](const std::vector<int> &at) { k["x"].set(at, at[1] % 2 ? -3.0 : 3.0); });
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        return dot(steps, at[0], [&](int) { return at[1] % 2 ? -3.0 : 3.0; });
                    },
                    3e-7);
            }};
}

// Any rows: each output within half a step of each activation, plus what float32 rounds.
void check_bound(Kernel &k, const Shape &s, int of_activations) {
    const Steps steps = random_steps(s, 7);
    put(k, s, steps, of_activations);
    REQUIRE(k.call() == 0);
    double worst = 0;
    for (int r = 0; r < s.rows; r++) {
        double peak = 0;
        for (int i = 0; i < s.in; i++) peak = std::max(peak, std::fabs(k["x"].get({i, r})));
        for (int o = 0; o < s.out; o++) {
            const double expected = dot(steps, o, [&](int i) { return k["x"].get({i, r}); });
            double weights = 0;
            for (const int step : steps.weights[static_cast<size_t>(o)]) weights += std::abs(step);
            weights *= double{steps.scales[static_cast<size_t>(o)]};
            const double apart = std::fabs(k["y"].get({o, r}) - expected);
            worst = std::max(worst, apart / (weights * peak * (0.5 / of_activations + 3e-7)));
        }
    }
    CHECK(worst <= 1);
    CHECK(worst > 0.01); // the limit is of the size of what it limits
}

constexpr double infinite = std::numeric_limits<double>::infinity();

std::vector<float> outputs_of(Kernel &k) {
    REQUIRE(k.call() == 0);
    const auto *first = reinterpret_cast<const float *>(k["y"].data());
    return {first, first + k["y"].extent(0) * k["y"].extent(1)};
}

void run_on_cpus(const std::vector<Case> &cases) {
    if (gpu_under_test()) return; // no GPU has such a kernel; kernels_refusal checks what it says
    run_everywhere(cases);
}

} // namespace

TEST_CASE("integer linear: rows of whole steps agree with float64 sums, any number of rows") {
    std::vector<Case> cases;
    int choice = 0;
    for (const int rows : {1, 2, 3, 7, 8, 16, 50}) {
        cases.push_back(exact({96, 192, rows, choice % 2 == 0, false}));
        cases.push_back(exact({96, 48, rows, choice++ % 3 == 0, true}));
    }
    run_on_cpus(cases);
}

TEST_CASE("integer linear: any number of inputs and outputs, whole words or not") {
    std::vector<Case> cases;
    const int counts[] = {1, 2, 7, 16};
    int choice = 0;
    for (const int in : {1, 3, 8, 17, 74, 513})
        for (const int out : {2, 17, 80, 513}) {
            choice++;
            cases.push_back(exact({in, out, counts[choice % 4], choice % 2 == 0, choice % 3 == 0}));
        }
    run_on_cpus(cases);
}

TEST_CASE("integer linear: weights that are larger than the caches") {
    run_on_cpus({exact({2048, 1024, 1}), exact({2048, 208, 3, true, true}), exact({1040, 416, 64, true})});
}

TEST_CASE("integer linear: the largest sums fit an int32") {
    run_on_cpus({largest(520, 1), largest(521, 3), largest(2048, 1), largest(8256, 1), largest(8256, 16)});
}

TEST_CASE("integer linear: an output is within half a step of each activation") {
    std::vector<Case> cases;
    for (const int in : {96, 520}) {
        const Shape s{in, 80, 5};
        cases.push_back({spec_of(s), [=](Kernel &k) {
                             for (const int steps : {2048, 9999, 32512}) check_bound(k, s, steps);
                         }});
    }
    run_on_cpus(cases);
}

TEST_CASE("integer linear: the steps of activations are as many as every sum allows") {
    CHECK(activation_steps(0) == most_activation_steps);
    for (const uint64_t heaviest : {uint64_t{66'052}, uint64_t{66'053}, uint64_t{500'000}, uint64_t{1'048'575}}) {
        const auto steps = static_cast<uint64_t>(activation_steps(heaviest));
        CHECK(steps * heaviest <= 0x7fffffff);
        CHECK(((steps + 1) * heaviest > 0x7fffffff || steps == most_activation_steps));
    }
    CHECK(activation_steps(66'052) == most_activation_steps);
    CHECK(activation_steps(66'053) < most_activation_steps);
    CHECK(activation_steps(1'048'576) == 0); // 2,047 steps would be left
    CHECK(int8_heaviness(std::vector<double>{1, -0.5, 0.25, 0}) == 127 + 64 + 32);
    CHECK(int8_heaviness(std::vector<double>{0, 0}) == 0);
}

TEST_CASE("integer linear: a row has the same bits beside any others") {
    if (gpu_under_test()) return;
    constexpr int in = 320, out = 96;
    std::vector<std::vector<float>> first; // of each level
    for (const int rows : {1, 2, 5, 16, 50}) {
        const Shape s{in, out, rows};
        size_t level = 0;
        run_on_cpus({{spec_of(s), [&](Kernel &k) {
                          put(k, s, random_steps({in, out, 1}, 3), most_activation_steps);
                          std::mt19937 random(9);
                          for (int i = 0; i < in; i++) {
                              const double value = std::ldexp(static_cast<double>(random()), -31) - 1;
                              k["x"].set({i, rows - 1}, value);
                          }
                          const std::vector<float> all = outputs_of(k), last(all.end() - out, all.end());
                          if (level == first.size()) first.push_back(last);
                          CHECK(std::memcmp(first[level++].data(), last.data(), out * sizeof(float)) == 0);
                      }}});
    }
}

TEST_CASE("integer linear: zeros and tiny numbers, and rows that are not finite") {
    const Shape s{100, 40, 6, true, false};
    run_on_cpus({{spec_of(s), [=](Kernel &k) {
                      const Steps steps = random_steps(s, 3);
                      put(k, s, steps, most_activation_steps);
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

TEST_CASE("random: integer linear") {
    if (gpu_under_test()) return;
    Random("integer linear").run([](Random &r) {
        return exact({r.size(500), r.size(300) + 1, r.size(60), r.flip(), r.flip()});
    });
}

} // namespace integer_linear_test
