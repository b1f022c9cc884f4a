// Matrix multiplication with integers: int8 weights by rows that the kernel rounds to int16.
// Against float64 sums of the same steps, against the error limit of docs/numerics.md, and at the
// edges: the largest sums that an int32 holds, rows of zeros, and numbers that are not finite.
#include "tests/kernels/integer_products.h"
#include "tests/kernels/random.h"
#include <random>

namespace integer_linear_test {

using namespace longwave::test;
using namespace longwave::schedules;

namespace {

// A scale for each output. At least one weight of an output is ±127 steps.
WeightMatrix random_steps(const LinearShape &s, uint32_t seed) {
    std::mt19937 random(seed);
    WeightMatrix matrix;
    for (int o = 0; o < s.out * (s.glu ? 2 : 1); o++) {
        std::vector<double> row(static_cast<size_t>(s.in));
        for (double &step : row) step = static_cast<int>(random() % 255) - 127;
        row[random() % row.size()] = random() % 2 ? 127 : -127;
        const float scale = std::ldexp(1.f, -10 - o % 5) / std::sqrt(static_cast<float>(s.in));
        for (double &weight : row) weight *= double{scale};
        matrix.push_back(std::move(row));
    }
    return matrix;
}

const IntegerProducts int8{.weights = "int8",
                           .format = WeightFormat::int8,
                           .random = random_steps,
                           .sums = [](int) { return 1; },
                           .float32_rounding = 3e-7};

const IntegerProducts bytes{.weights = "int8",
                            .format = WeightFormat::int8,
                            .random = random_steps,
                            .sums = int8.sums,
                            .float32_rounding = int8.float32_rounding,
                            .activations = "int8",
                            .steps = 64,
                            .most_steps = byte_activation_steps};

// All weights ±127 steps, with as many steps of activations as the sums allow.
Case largest(int in, int rows) {
    const LinearShape s{in, 32, rows};
    const int of_activations = activation_steps(uint64_t{127} * static_cast<uint64_t>(in));
    REQUIRE(of_activations >= least_activation_steps);
    WeightMatrix matrix;
    for (int o = 0; o < s.out; o++) matrix.emplace_back(s.in, (o % 2 ? 127 : -127) * 0.0625);
    return int8.largest(s, matrix, of_activations, 3e-7);
}

} // namespace

TEST_CASE("integer linear: rows of whole steps agree with float64 sums, any number of rows") {
    std::vector<Case> cases;
    int choice = 0;
    for (const int rows : {1, 2, 3, 7, 8, 16, 50}) {
        cases.push_back(int8.exact({96, 192, rows, choice % 2 == 0, false}));
        cases.push_back(int8.exact({96, 48, rows, choice++ % 3 == 0, true}));
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
            cases.push_back(int8.exact({in, out, counts[choice % 4], choice % 2 == 0, choice % 3 == 0}));
        }
    run_on_cpus(cases);
}

TEST_CASE("integer linear: rows of int8, any number of inputs, outputs and rows") {
    std::vector<Case> cases;
    int choice = 0;
    for (const int in : {1, 8, 74, 96, 513, 520})
        for (const int rows : {1, 3, 16}) {
            choice++;
            cases.push_back(bytes.exact({in, choice % 4 * 40 + 16, rows, choice % 2 == 0, choice % 3 == 0}));
        }
    run_on_cpus(cases);
}

TEST_CASE("integer linear: weights that are larger than the caches") {
    run_on_cpus({int8.exact({2048, 1024, 1}), int8.exact({2048, 208, 3, true, true}),
                 int8.exact({1040, 416, 64, true})});
}

TEST_CASE("integer linear: the largest sums fit an int32") {
    run_on_cpus({largest(520, 1), largest(521, 3), largest(2048, 1), largest(8256, 1), largest(8256, 16)});
}

TEST_CASE("integer linear: an output is within half a step of each activation") {
    const std::vector<int> steps = {2048, 9999, 32512};
    run_on_cpus({int8.within_half_a_step({96, 80, 5}, steps), int8.within_half_a_step({520, 80, 5}, steps),
                 bytes.within_half_a_step({520, 80, 5}, {byte_activation_steps})});
}

TEST_CASE("integer linear: the steps of activations are as many as every sum allows") {
    CHECK(activation_steps(0) == most_activation_steps);
    for (const uint64_t heaviest :
         {uint64_t{66'052}, uint64_t{66'053}, uint64_t{500'000}, uint64_t{1'048'575}}) {
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
    int8.check_bits_of_a_row();
    bytes.check_bits_of_a_row();
}

TEST_CASE("integer linear: zeros and tiny numbers, and rows that are not finite") {
    int8.check_edges();
    bytes.check_edges();
}

TEST_CASE("random: integer linear") {
    if (gpu_under_test()) return;
    Random("integer linear").run([](Random &r) {
        return int8.exact({r.size(500), r.size(300) + 1, r.size(60), r.flip(), r.flip()});
    });
}

} // namespace integer_linear_test
