// Weights in fewer bytes: what rounding does to a number, where it lies, and kernels against
// float64 sums of the rounded weights.
#include "schedules/contract/panels.h"
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace stored_weights_test {

using namespace longwave::test;
using namespace longwave::schedules;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// From the definitions, by other means than the library: a significand of 8 bits, and whole steps
// of a scale.
double rounded_to_bf16(float weight) {
    if (weight == 0) return 0;
    const int unit = std::ilogb(weight) - 7;
    return std::ldexp(std::nearbyint(std::ldexp(double{weight}, -unit)), unit);
}

std::vector<double> rounded_to_int8(const std::vector<float> &row) {
    float largest = 0;
    for (const float weight : row) largest = std::max(largest, std::fabs(weight));
    const double scale = largest / 127.f;
    std::vector<double> rounded;
    for (const float weight : row)
        rounded.push_back(scale == 0 ? 0 : scale * std::nearbyint(double{weight} / scale));
    return rounded;
}

struct Stored {
    int in, out, rows;
    WeightFormat format;
    bool bias = false, glu = false;
};

std::string stored_spec(const Stored &p) {
    return spec("linear", fmt::format(R"("in":{},"out":{},"rows":{},"bias":{},"glu":{},"weights":"{}")", p.in,
                                      p.out, p.rows, int(p.bias), int(p.glu), name_of(p.format)));
}

// [outputs][in], values then gates.
struct Matrix {
    std::vector<std::vector<float>> exact;
    std::vector<std::vector<double>> rounded;
};

Matrix matrix_of(const Stored &p) {
    std::mt19937 random(static_cast<uint32_t>(p.in * 1000 + p.out));
    // Sums of a few units: a gate is neither nothing nor all.
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(p.in)));
    Matrix matrix;
    for (int o = 0; o < p.out * (p.glu ? 2 : 1); o++) {
        std::vector<float> row(static_cast<size_t>(p.in));
        for (float &weight : row)
            weight = normal(random) * std::exp2(static_cast<float>(o % 7 - 3)); // own scales
        std::vector<double> rounded = rounded_to_int8(row);
        if (p.format == WeightFormat::bf16)
            std::transform(row.begin(), row.end(), rounded.begin(), rounded_to_bf16);
        matrix.exact.push_back(std::move(row));
        matrix.rounded.push_back(std::move(rounded));
    }
    return matrix;
}

void put(Kernel &kernel, const Stored &p, const Matrix &matrix) {
    PackedPanels packed(
        {static_cast<uint32_t>(p.in), static_cast<uint32_t>(p.out), p.glu ? 2u : 1u, p.format});
    std::vector<uint32_t> inputs(static_cast<size_t>(p.in));
    std::iota(inputs.begin(), inputs.end(), 0u);
    for (size_t o = 0; o < matrix.exact.size(); o++) {
        const std::vector<double> row(matrix.exact[o].begin(), matrix.exact[o].end());
        packed.set(static_cast<uint32_t>(o) % packed.panels.out, static_cast<uint32_t>(o) / packed.panels.out,
                   row, inputs);
    }
    std::memcpy(kernel["w"].data(), packed.words.data(), packed.words.size() * sizeof(uint32_t));
    if (p.format != WeightFormat::int8) return;
    REQUIRE(kernel["scale"].extent(0) == static_cast<int>(packed.scales.size()));
    std::memcpy(kernel["scale"].data(), packed.scales.data(), packed.scales.size() * sizeof(float));
}

// Few sums: one may cancel. Long sums of few rows, or of inputs that do not divide into chunks, go
// from end to end in one.
double slack(const Stored &p) {
    if (p.out * p.rows < 8 || p.out == 1) return 4;
    return p.in > 512 ? 2 : 1;
}

Case stored(const Stored &p) {
    return {stored_spec(p), [=](Kernel &k) {
                const Matrix matrix = matrix_of(p);
                put(k, p, matrix);
                if (p.bias) zero_padding(k["bias"], p.out, padded(p.out));
                const Tensor &x = k["x"];
                const auto sum = [&](int o, int half, int r) {
                    const std::vector<double> &row = matrix.rounded[static_cast<size_t>(o + half * p.out)];
                    double total = p.bias ? k["bias"].get({o + half * padded(p.out)}) : 0;
                    for (int i = 0; i < p.in; i++) total += row[static_cast<size_t>(i)] * x.get({i, r});
                    return total;
                };
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= p.out) return 0.0;
                        const double value = sum(at[0], 0, at[1]);
                        return p.glu ? value * logistic(sum(at[0], 1, at[1])) : value;
                    },
                    limit(p.in, p.glu) * slack(p));
            }};
}

constexpr WeightFormat narrow[] = {WeightFormat::bf16, WeightFormat::int8};

} // namespace

TEST_CASE(
    "linear: weights in bf16 and int8, any number of rows, agree with float64 sums of the rounded weights") {
    std::vector<Case> cases;
    int choice = 0;
    for (const WeightFormat format : narrow)
        for (const int rows : {1, 2, 7, 16, 50, 256}) {
            // On a device: one row, rows of a matrix-vector product, and whole tiles with a rest.
            if (few_on_a_gpu() && rows != 1 && rows != 7 && rows != 50) continue;
            cases.push_back(stored({96, 192, rows, format, true, false}));
            cases.push_back(stored({96, 48, rows, format, choice++ % 2 == 0, true}));
        }
    run_everywhere(cases);
}

TEST_CASE("linear: weights in bf16 and int8, any number of inputs and outputs, whole words or not") {
    std::vector<Case> cases;
    const int widths[] = {1, 3, 17, 513}, counts[] = {1, 2, 7, 16, 50};
    int choice = 0;
    for (const WeightFormat format : narrow)
        for (const int in : widths)
            for (const int out : widths) {
                choice++;
                // On a device: each width on both sides with each format, and every bias, gate and count.
                if (few_on_a_gpu() && choice % 7 % 2 == 0) continue;
                cases.push_back(
                    stored({in, out, counts[choice % 5], format, choice % 2 == 0, choice % 3 == 0}));
            }
    run_everywhere(cases);
}

TEST_CASE("linear: weights in bf16 and int8 that are larger than the caches, in blocks and chunks") {
    std::vector<Case> cases;
    for (const WeightFormat format : narrow) {
        cases.push_back(stored({4096, 48, 97, format, true, false}));
        cases.push_back(stored({2048, 512, 1, format, false, false}));
        cases.push_back(stored({2048, 208, 3, format, true, true}));
        cases.push_back(stored({1040, 416, 230, format, true, false}));
    }
    run_everywhere(cases);
}

TEST_CASE("bf16: rounded to nearest, ties to even, as PyTorch rounds float32") {
    const std::pair<double, double> rounded[] = {{1.0, 1.0},
                                                 {0x1.01p+0, 0x1.00p+0}, // a tie: to the even one below
                                                 {0x1.03p+0, 0x1.04p+0}, // to the even one above
                                                 {0x1.010002p+0, 0x1.02p+0},
                                                 {0x1.00fffep+0, 0x1.00p+0},
                                                 {-0x1.01p+0, -0x1.00p+0},
                                                 {-0x1.03p+0, -0x1.04p+0},
                                                 {0x1.99999ap-4, 0x1.9ap-4},
                                                 {-0x1.921fb6p+1, -0x1.92p+1},
                                                 {0x1.ffc0p+15, 0x1p+16}, // carried into the exponent
                                                 {0x1.ffp+0, 0x1p+1},
                                                 {0x1.fep+127, 0x1.fep+127}, // the largest
                                                 {0x1p-126, 0x1p-126},       // the smallest that is normal
                                                 {0.0, 0.0}};
    for (const auto &[value, expected] : rounded) {
        INFO(value);
        CHECK(nearest_bf16(value) == expected);
        CHECK(nearest_bf16(expected) == expected);
        const uint32_t bits = stored_bits(WeightFormat::bf16, value, 0) << 16;
        float back = 0;
        std::memcpy(&back, &bits, sizeof back);
        CHECK(double{back} == expected);
    }
}

TEST_CASE("bf16: numbers of float64 are rounded once") {
    // Through float32 this would be a tie first, and then 1.
    CHECK(nearest_bf16(0x1.0100000001p+0) == 0x1.02p+0);
    CHECK(nearest_bf16(0x1.02ffffffffp+0) == 0x1.02p+0);
}

TEST_CASE("bf16: what would be subnormal is zero, what is beyond the largest is infinite") {
    CHECK(nearest_bf16(0x1.fcp-127) == 0);
    CHECK(nearest_bf16(0x1.ffp-127) == 0x1p-126); // rounded up to a normal number
    CHECK(nearest_bf16(0x1p-149) == 0);
    CHECK(std::signbit(nearest_bf16(-0x1p-149)));
    CHECK(nearest_bf16(0x1.ffp+127) == infinite);
    CHECK(nearest_bf16(-0x1.ffp+127) == -infinite);
    CHECK(nearest_bf16(0x1.feffffp+127) == 0x1.fep+127);
    CHECK(nearest_bf16(infinite) == infinite);
    CHECK(std::isnan(nearest_bf16(std::nan(""))));
}

TEST_CASE("int8: whole steps of a scale, ties to even, the largest weight 127 of them") {
    CHECK(int8_scale(127) == 1);
    CHECK(int8_scale(1) == 1.f / 127);
    for (const auto &[value, steps] :
         {std::pair{0.5, 0}, {1.5, 2}, {-2.5, -2}, {-3.5, -4}, {127.0, 127}, {-127.0, -127}})
        CHECK(int8_steps(value, 1) == steps);
    std::mt19937 random(5);
    for (int i = 0; i < 10000; i++) {
        const double largest =
            std::ldexp(1 + static_cast<double>(random()) * 0x1p-32, static_cast<int>(random() % 60) - 30);
        const float scale = int8_scale(largest);
        CHECK(int8_steps(largest, scale) == 127);
        CHECK(int8_steps(-largest, scale) == -127);
        // What was rounded keeps its scale and its steps.
        CHECK(int8_scale(127 * double{scale}) == scale);
        const int steps = static_cast<int>(random() % 255) - 127;
        CHECK(int8_steps(steps * double{scale}, scale) == steps);
    }
}

TEST_CASE("int8: an output of zeros, and one too small for a normal scale, are zero") {
    CHECK(int8_scale(0) == 0);
    CHECK(int8_scale(1e-36) == 0);
    CHECK(int8_scale(2e-36) > 0);
    CHECK(int8_steps(1e-36, 0) == 0);
    CHECK(stored_bits(WeightFormat::int8, 0, 0) == 0);
    CHECK(stored_bits(WeightFormat::int8, -1, 1) == 0xff);
}

TEST_CASE("formats of weights: their names, and no others") {
    for (const WeightFormat format : weight_formats) CHECK(find_weight_format(name_of(format)) == format);
    CHECK(find_weight_format("int4") == WeightFormat::int4);
    for (const char *name : {"", "fp16", "BF16", "int2"}) CHECK(!find_weight_format(name));
}

TEST_CASE("panels: in every format each weight has bits of its own") {
    for (const WeightFormat format : weight_formats)
        for (const Panels p : {Panels{1024, 50, 2, format}, Panels{17, 16, 1, format},
                               Panels{65, 1, 2, format}, Panels{1, 3, 1, format}, Panels{7, 1, 1, format}}) {
            std::vector<uint32_t> taken(p.size());
            const uint32_t bits = 32 / p.of_word(), mask = bits == 32 ? ~0u : (1u << bits) - 1;
            for (uint32_t o = 0; o < p.out; o++)
                for (uint32_t half = 0; half < p.halves; half++)
                    for (uint32_t i = 0; i < p.in; i++) {
                        if (p.at(o, half, i) >= p.size() || p.shift(i) + bits > 32)
                            FAIL("weight ", i, " of output ", o, " lies behind the end");
                        uint32_t &word = taken[p.at(o, half, i)];
                        if (word & mask << p.shift(i))
                            FAIL_CHECK("weight ", i, " of output ", o, " has no bits of its own");
                        word |= mask << p.shift(i);
                    }
            CHECK(p.stride() % 1024 != 0);
        }
}

TEST_CASE("random: linear with stored weights") {
    Random("stored weights").run([](Random &r) {
        return stored(
            {r.size(500), r.size(300), r.size(60), r.one_of({narrow[0], narrow[1]}), r.flip(), r.flip()});
    });
}

} // namespace stored_weights_test
