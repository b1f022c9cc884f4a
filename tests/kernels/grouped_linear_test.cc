// Matrix multiplication with int4 weights, a scale for each group of 32 inputs of an output, by
// rows that the kernel rounds to int16, or group by group to int8. Against float64 sums of the same
// steps and scales, against the error limit of docs/numerics.md, and at the edges: the largest
// sums, rows of zeros, and numbers that are not finite.
#include "tests/kernels/integer_products.h"
#include "tests/kernels/random.h"
#include <random>

namespace grouped_linear_test {

using namespace longwave::test;
using namespace longwave::schedules;

namespace {

// A scale for each group. In every group one weight is ±7 steps. `step`: all are so many, 0: random
// ones.
WeightMatrix steps_of_groups(const LinearShape &s, uint32_t seed, int step) {
    std::mt19937 random(seed);
    WeightMatrix matrix(static_cast<size_t>(s.out * (s.glu ? 2 : 1)));
    for (size_t o = 0; o < matrix.size(); o++)
        for (int first = 0; first < s.in; first += int4_group) {
            const int n = std::min<int>(int4_group, s.in - first),
                      peak = static_cast<int>(random() % static_cast<uint32_t>(n));
            const double scale = std::ldexp(1.0 + random() % 64 / 64.0, -8 - static_cast<int>(random() % 3)) /
                                 std::sqrt(double{1} * s.in);
            const auto held = double{static_cast<float>(scale)};
            for (int i = 0; i < n; i++) {
                const int any = i == peak ? (random() % 2 ? 7 : -7) : static_cast<int>(random() % 15) - 7;
                matrix[o].push_back(held * (step ? (o % 2 ? step : -step) : any));
            }
        }
    return matrix;
}

const IntegerProducts int4{
    .weights = "int4",
    .format = WeightFormat::int4,
    .random = [](const LinearShape &s, uint32_t seed) { return steps_of_groups(s, seed, 0); },
    .sums = [](int in) { return 1 + in / static_cast<int>(int4_group); },
    .float32_rounding = 6e-7};

const IntegerProducts bytes{.weights = "int4",
                            .format = WeightFormat::int4,
                            .random = int4.random,
                            .sums = int4.sums,
                            .float32_rounding = int4.float32_rounding,
                            .activations = "int8",
                            .steps = 64,
                            .most_steps = byte_activation_steps,
                            .together = int4_group};

// All weights ±7 steps, with the most steps of activations that the compiler asks for.
Case largest(const IntegerProducts &format, int in, int rows) {
    const LinearShape s{in, 32, rows};
    return format.largest(s, steps_of_groups(s, 5, 7), format.most_steps, 3e-7 * (1 + std::sqrt(in / 32.0)));
}

} // namespace

TEST_CASE("grouped linear: rows of whole steps agree with float64 sums, any number of rows") {
    std::vector<Case> cases;
    int choice = 0;
    for (const int rows : {1, 2, 3, 7, 8, 16, 50}) {
        cases.push_back(int4.exact({96, 192, rows, choice % 2 == 0, false}));
        cases.push_back(int4.exact({96, 48, rows, choice++ % 3 == 0, true}));
    }
    run_on_cpus(cases);
}

// How many rows a tile has depends on the level, the rows and the gates (the case above); inputs and
// outputs are how often groups and panels go round.
TEST_CASE("grouped linear: any number of inputs and outputs, whole groups or not") {
    std::vector<Case> cases;
    const int counts[] = {1, 2, 7, 16};
    int choice = 0;
    for (const int in : {1, 3, 8, 17, 33, 74, 513})
        for (const int out : {2, 17, 80, 257}) {
            choice++;
            cases.push_back(int4.exact({in, out, counts[choice % 4], choice % 2 == 0, choice % 3 == 0}));
        }
    run_on_cpus(cases);
}

TEST_CASE("grouped linear: weights that are larger than the caches, and the largest sums") {
    run_on_cpus({int4.exact({2048, 1024, 1}), int4.exact({2048, 208, 3, true, true}), largest(int4, 32, 1),
                 largest(int4, 2048, 3), largest(bytes, 2048, 3)});
}

TEST_CASE("grouped linear: rows of int8, any number of inputs, outputs and rows") {
    std::vector<Case> cases;
    int choice = 0;
    for (const int rows : {1, 2, 7, 50}) {
        cases.push_back(bytes.exact({96, 192, rows, choice % 2 == 0, false}));
        cases.push_back(bytes.exact({96, 48, rows, choice++ % 3 == 0, true}));
    }
    for (const int in : {1, 8, 33, 74, 513}) {
        choice++;
        cases.push_back(
            bytes.exact({in, choice % 3 * 40 + 17, choice % 2 ? 1 : 16, choice % 2 == 0, choice % 3 == 0}));
    }
    cases.push_back(bytes.exact({2048, 208, 3, true, true}));
    run_on_cpus(cases);
}

TEST_CASE("grouped linear: an output is within half a step of each activation") {
    run_on_cpus({int4.within_half_a_step({520, 80, 5}, {most_activation_steps}),
                 bytes.within_half_a_step({520, 80, 5}, {byte_activation_steps})});
}

TEST_CASE("grouped linear: a row has the same bits beside any others") {
    int4.check_bits_of_a_row();
    bytes.check_bits_of_a_row();
}

TEST_CASE("grouped linear: zeros and tiny numbers, and rows that are not finite") {
    int4.check_edges();
    bytes.check_edges();
}

TEST_CASE("int4: whole steps of a scale, groups of their own, and padding that counts nothing") {
    CHECK(int4_scale(7) == 1);
    CHECK(int4_steps(0.5, 1) == 0); // ties to even
    CHECK(int4_steps(1.5, 1) == 2);
    CHECK(int4_steps(-9, 1) == -7);
    CHECK(int4_steps(1, 0) == 0);
    CHECK(stored_bits(WeightFormat::int4, -7, 1) == 1);
    CHECK(stored_bits(WeightFormat::int4, 7, 1) == 15);
    const LinearShape s{40, 2, 1};
    const WeightMatrix matrix = {std::vector<double>(40, 7.0), std::vector<double>(40, 0.0)};
    const PackedPanels made = int4.packed(s, matrix);
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
        return int4.exact({r.size(500), r.size(300) + 1, r.size(60), r.flip(), r.flip()});
    });
}

} // namespace grouped_linear_test
