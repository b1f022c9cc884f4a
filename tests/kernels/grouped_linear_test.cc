// Matrix multiplication with int4 weights, a scale for each group of 32 inputs of an output, by
// rows that the kernel rounds to int16. Against float64 sums of the same steps and scales, against
// the error limit of docs/numerics.md, and at the edges: the largest sums, rows of zeros, and
// numbers that are not finite.
#include "schedules/contract/panels.h"
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace grouped_linear_test {

using namespace longwave::test;
using namespace longwave::schedules;

namespace {

struct Shape {
    int in, out, rows;
    bool bias = false, glu = false;
};

std::string spec_of(const Shape &s) {
    return spec("linear",
                fmt::format(R"("in":{},"out":{},"rows":{},"bias":{},"glu":{},"weights":"int4","activations":"int16")",
                            s.in, s.out, s.rows, int(s.bias), int(s.glu)));
}

using Matrix = std::vector<std::vector<double>>; // values then gates, of whole steps of a scale for each group

// In every group one weight is ±7 steps: storing the weights changes nothing. `step`: all are so
// many, 0: random ones.
Matrix random_weights(const Shape &s, uint32_t seed, int step = 0) {
    std::mt19937 random(seed);
    Matrix matrix(static_cast<size_t>(s.out * (s.glu ? 2 : 1)));
    for (size_t o = 0; o < matrix.size(); o++)
        for (int first = 0; first < s.in; first += int4_group) {
            const int n = std::min<int>(int4_group, s.in - first), peak = static_cast<int>(random() % static_cast<uint32_t>(n));
            const double scale = std::ldexp(1.0 + random() % 64 / 64.0, -8 - static_cast<int>(random() % 3)) / std::sqrt(double{1} * s.in);
            const auto held = double{static_cast<float>(scale)};
            for (int i = 0; i < n; i++) {
                const int any = i == peak ? (random() % 2 ? 7 : -7) : static_cast<int>(random() % 15) - 7;
                matrix[o].push_back(held * (step ? (o % 2 ? step : -step) : any));
            }
        }
    return matrix;
}

PackedPanels packed(const Shape &s, const Matrix &matrix) {
    PackedPanels made({static_cast<uint32_t>(s.in), static_cast<uint32_t>(s.out), s.glu ? 2u : 1u, WeightFormat::int4});
    std::vector<uint32_t> inputs(static_cast<size_t>(s.in));
    std::iota(inputs.begin(), inputs.end(), 0u);
    for (size_t o = 0; o < matrix.size(); o++)
        made.set(static_cast<uint32_t>(o) % made.panels.out, static_cast<uint32_t>(o) / made.panels.out, matrix[o], inputs);
    return made;
}

void put(Kernel &k, const Shape &s, const Matrix &matrix, int of_activations = most_activation_steps) {
    const PackedPanels made = packed(s, matrix);
    std::memcpy(k["w"].data(), made.words.data(), made.words.size() * sizeof(uint32_t));
    std::memcpy(k["scale"].data(), made.scales.data(), made.scales.size() * sizeof(float));
    k["steps"].set({0}, of_activations);
}

double dot(const Matrix &matrix, int output, const std::function<double(int)> &x) {
    const std::vector<double> &row = matrix[static_cast<size_t>(output)];
    double sum = 0;
    for (size_t i = 0; i < row.size(); i++) sum += row[i] * x(static_cast<int>(i));
    return sum;
}

// Rows that are whole steps of their peak, a power of two: rounding changes nothing, and all that
// is left of an error is what scaling, adding groups and the epilogue round.
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
                const Matrix matrix = random_weights(s, static_cast<uint32_t>(s.in * 1000 + s.out));
                put(k, s, matrix, of_activations);
                fill_with_steps(k, s, of_activations);
                if (s.bias) zero_padding(k["bias"], s.out, padded(s.out));
                const auto sum = [&](int o, int half, int r) {
                    const double bias = s.bias ? k["bias"].get({o + half * padded(s.out)}) : 0;
                    return bias + dot(matrix, o + half * s.out, [&](int i) { return k["x"].get({i, r}); });
                };
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= s.out) return 0.0;
                        const double value = sum(at[0], 0, at[1]);
                        return s.glu ? value * logistic(sum(at[0], 1, at[1])) : value;
                    },
                    limit(1 + s.in / static_cast<int>(int4_group), s.glu ? 2 : 0.5));
            }};
}

// All weights ±7 steps, all activations at their peak, with the most steps that the compiler asks
// for.
Case largest(int in, int rows) {
    const Shape s{in, 32, rows};
    return {spec_of(s), [=](Kernel &k) {
                const Matrix matrix = random_weights(s, 5, 7);
                put(k, s, matrix);
                k["x"].for_each([&](const std::vector<int> &at) { k["x"].set(at, at[1] % 2 ? -3.0 : 3.0); });
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) { return dot(matrix, at[0], [&](int) { return at[1] % 2 ? -3.0 : 3.0; }); },
                    3e-7 * (1 + std::sqrt(in / 32.0)));
            }};
}

void run_on_cpus(const std::vector<Case> &cases) {
    if (gpu_under_test()) return; // no GPU has such a kernel
    run_everywhere(cases);
}

constexpr double infinite = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("grouped linear: rows of whole steps agree with float64 sums, any number of rows") {
    std::vector<Case> cases;
    int choice = 0;
    for (const int rows : {1, 2, 3, 7, 8, 16, 50}) {
        cases.push_back(exact({96, 192, rows, choice % 2 == 0, false}));
        cases.push_back(exact({96, 48, rows, choice++ % 3 == 0, true}));
    }
    run_on_cpus(cases);
}

TEST_CASE("grouped linear: any number of inputs and outputs, whole groups or not") {
    std::vector<Case> cases;
    const int counts[] = {1, 2, 7, 16};
    int choice = 0;
    for (const int in : {1, 3, 8, 17, 33, 74, 513})
        for (const int out : {2, 17, 80, 257}) {
            choice++;
            cases.push_back(exact({in, out, counts[choice % 4], choice % 2 == 0, choice % 3 == 0}));
        }
    run_on_cpus(cases);
}

TEST_CASE("grouped linear: weights that are larger than the caches, and the largest sums") {
    run_on_cpus({exact({2048, 1024, 1}), exact({2048, 208, 3, true, true}), largest(32, 1), largest(2048, 3)});
}

TEST_CASE("grouped linear: an output is within half a step of each activation") {
    const Shape s{520, 80, 5};
    run_on_cpus({{spec_of(s), [=](Kernel &k) {
                      const Matrix matrix = random_weights(s, 7);
                      put(k, s, matrix);
                      REQUIRE(k.call() == 0);
                      double worst = 0;
                      for (int r = 0; r < s.rows; r++) {
                          double peak = 0;
                          for (int i = 0; i < s.in; i++) peak = std::max(peak, std::fabs(k["x"].get({i, r})));
                          for (int o = 0; o < s.out; o++) {
                              const double expected = dot(matrix, o, [&](int i) { return k["x"].get({i, r}); });
                              double weights = 0;
                              for (const double weight : matrix[static_cast<size_t>(o)]) weights += std::fabs(weight);
                              worst = std::max(worst, std::fabs(k["y"].get({o, r}) - expected) /
                                                          (weights * peak * (0.5 / most_activation_steps + 6e-7)));
                          }
                      }
                      CHECK(worst <= 1);
                      CHECK(worst > 0.01); // the limit is of the size of what it limits
                  }}});
}

TEST_CASE("grouped linear: a row has the same bits beside any others") {
    if (gpu_under_test()) return;
    constexpr int in = 320, out = 96;
    std::vector<std::vector<float>> first; // of each level
    for (const int rows : {1, 2, 5, 16, 50}) {
        const Shape s{in, out, rows};
        size_t level = 0;
        run_on_cpus({{spec_of(s), [&](Kernel &k) {
                          put(k, s, random_weights({in, out, 1}, 3));
                          std::mt19937 random(9);
                          for (int i = 0; i < in; i++)
                              k["x"].set({i, rows - 1}, std::ldexp(static_cast<double>(random()), -31) - 1);
                          REQUIRE(k.call() == 0);
                          const auto *all = reinterpret_cast<const float *>(k["y"].data());
                          const std::vector<float> last(all + (rows - 1) * out, all + rows * out);
                          if (level == first.size()) first.push_back(last);
                          CHECK(std::memcmp(first[level++].data(), last.data(), out * sizeof(float)) == 0);
                      }}});
    }
}

TEST_CASE("grouped linear: zeros and tiny numbers, and rows that are not finite") {
    const Shape s{100, 40, 6, true, false};
    run_on_cpus({{spec_of(s), [=](Kernel &k) {
                      put(k, s, random_weights(s, 3));
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

TEST_CASE("int4: whole steps of a scale, groups of their own, and padding that counts nothing") {
    CHECK(int4_scale(7) == 1);
    CHECK(int4_steps(0.5, 1) == 0); // ties to even
    CHECK(int4_steps(1.5, 1) == 2);
    CHECK(int4_steps(-9, 1) == -7);
    CHECK(int4_steps(1, 0) == 0);
    CHECK(stored_bits(WeightFormat::int4, -7, 1) == 1);
    CHECK(stored_bits(WeightFormat::int4, 7, 1) == 15);
    const Shape s{40, 2, 1};
    const Matrix matrix = {std::vector<double>(40, 7.0), std::vector<double>(40, 0.0)};
    const PackedPanels made = packed(s, matrix);
    CHECK(made.panels.words() == 8);
    CHECK(made.panels.groups() == 2);
    CHECK(made.words[made.panels.at(0, 0, 0)] == 0xffffffff);
    CHECK(made.words[made.panels.at(1, 0, 0)] == 0x88888888); // zeros
    CHECK(made.words[made.panels.at(0, 0, 32)] == 0xffffffff);
    CHECK(made.words[made.panels.at(0, 0, 40)] == 0x88888888); // behind the last input
    CHECK(made.scales[made.panels.scale_at(0, 0, 1)] == 1);
    CHECK(made.scales[made.panels.scale_at(1, 0, 0)] == 0);
}

TEST_CASE("random: grouped linear") {
    if (gpu_under_test()) return;
    Random("grouped linear").run([](Random &r) {
        return exact({r.size(500), r.size(300) + 1, r.size(60), r.flip(), r.flip()});
    });
}

} // namespace grouped_linear_test
