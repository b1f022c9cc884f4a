// Long taps as int8, from package to artifact: runs and streams against float64 sums of taps that
// are rounded here by definition, the size of the file, and what the report says.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace stored_taps_test {

using namespace longwave;
using namespace longwave::test;
using nlohmann::json;

namespace {

// 24 channels lie in 32 lanes. The last group of taps has 4 of 32.
constexpr size_t width = 24, taps = 100, rows = 300;
constexpr int dim = 16, scales = 4; // 16 · 2^3 taps

const std::vector<float> &input() {
    static const std::vector<float> x = random_numbers(rows * width, 3, 1);
    return x;
}

// Taps that fall to a thousandth: one scale for all of them would lose the last.
std::vector<float> falling_taps(uint32_t seed) {
    std::vector<float> k = random_numbers(width * taps, seed, 0.3);
    for (size_t i = 0; i < k.size(); i++) k[i] *= std::exp2(-0.1f * static_cast<float>(i % taps));
    return k;
}

// In groups of 32 within a row, each in steps of a 127th of its largest magnitude.
std::vector<double> rounded(const std::vector<float> &k, size_t of_row) {
    std::vector<double> values(k.begin(), k.end());
    for (size_t begin = 0, n; begin < k.size(); begin += n) {
        n = std::min<size_t>(32, of_row - begin % of_row);
        float largest = 0;
        for (size_t i = begin; i < begin + n; i++) largest = std::max(largest, std::fabs(k[i]));
        const double step = double{largest / 127.f};
        for (size_t i = begin; i < begin + n; i++) values[i] = step * std::nearbyint(double{k[i]} / step);
    }
    return values;
}

// y[t,h] = Σ_j k[h,j] x[t−j,h] + Σ_j ahead[h,j] x[t+1+j,h]
std::vector<double> sums(const std::vector<double> &k, const std::vector<double> &ahead) {
    const size_t past = k.size() / width, future = ahead.size() / width;
    std::vector<double> y(rows * width);
    for (size_t t = 0; t < rows; t++)
        for (size_t h = 0; h < width; h++) {
            double &sum = y[t * width + h];
            for (size_t j = 0; j < past && j <= t; j++)
                sum += k[h * past + j] * double{input()[(t - j) * width + h]};
            for (size_t j = 0; j < future && t + 1 + j < rows; j++)
                sum += ahead[h * future + j] * double{input()[(t + 1 + j) * width + h]};
        }
    return y;
}

Expected<compiler::Compiled> compiled_with(const json &layer, Tensors tensors, const std::string &weights,
                                           const std::string &convolution, bool causal,
                                           size_t channels = width) {
    const json model = {{"format", "longwave-model"},
                        {"version", 1},
                        {"name", "taps"},
                        {"inputs", json::array({{{"name", "x"}, {"kind", "features"}, {"width", channels}}})},
                        {"layers", json::array({layer})},
                        {"outputs", json::array({{{"name", "y"}, {"from", layer["name"]}}})}};
    compiler::Options options = options_here();
    options.stream = causal ? compiler::StreamMode::required : compiler::StreamMode::none;
    options.length = rows;
    if (causal) options.blocks = {16};
    options.convolution = convolution;
    options.weights = weights;
    return compiled(model.dump(), std::move(tensors), options);
}

// Float32 sums of 100 products: a few units of 6e-8 of the peak.
constexpr double limit = 1e-6;

void equals(const compiler::Compiled &made, const std::vector<double> &expected, bool causal) {
    const auto model = cli::Model::open(made.artifact);
    REQUIRE_MESSAGE(model, model.status().message());
    CHECK(distance(outputs_of_run(*model, sequence_of(input(), width))[0], expected) <= limit);
    if (causal) CHECK(distance(streamed(*model, input().data(), rows), expected) <= limit);
    double worst = 0;
    CHECK(lw_model_verify(model->handle.get(), &worst) == LW_OK);
}

// An identity beside the taps, which the compiler merges: tap 0 is several times the others.
json beside_identity(bool causal) {
    return {{"type", "short_long"},
            {"name", "c"},
            {"causal", causal},
            {"short_branches", json::array({{{"kind", "identity"}}})},
            {"short_mode", "parallel"}};
}

Tensors tensors_of(bool causal) {
    Tensors tensors;
    tensors["c.long.k0"] = {{width, taps}, falling_taps(1)};
    if (!causal) tensors["c.long.k1"] = {{width, taps}, falling_taps(2)};
    return tensors;
}

// Tap 0 keeps its digits, with the identity in it.
std::vector<double> stored_taps() {
    std::vector<float> others = falling_taps(1);
    for (size_t h = 0; h < width; h++) others[h * taps] = 0;
    std::vector<double> k = rounded(others, taps);
    for (size_t h = 0; h < width; h++) k[h * taps] = 1 + double{falling_taps(1)[h * taps]};
    return k;
}

} // namespace

TEST_CASE("stored taps: runs and streams of every algorithm equal float64 sums of the rounded taps") {
    const std::vector<double> causal = sums(stored_taps(), {}),
                              both = sums(stored_taps(), rounded(falling_taps(2), taps));
    for (const char *algorithm : {"direct", "partitioned", "overlap_add"}) {
        INFO(algorithm);
        const auto made = compiled_with(beside_identity(true), tensors_of(true), "int8", algorithm, true);
        REQUIRE_MESSAGE(made, made.status().message());
        equals(*made, causal, true);
    }
    const auto centred = compiled_with(beside_identity(false), tensors_of(false), "int8", "", false);
    REQUIRE_MESSAGE(centred, centred.status().message());
    equals(*centred, both, false);
}

TEST_CASE("stored taps: each scale of a multi-scale kernel has steps of its own") {
    Tensors tensors;
    std::vector<double> k(width * (dim << (scales - 1)));
    const size_t all = k.size() / width;
    for (int i = 0; i < scales; i++) {
        const std::vector<float> parameters =
            random_numbers(width * dim, 5 + static_cast<uint32_t>(i), std::exp2(-3 * i));
        const std::vector<double> stored = rounded(parameters, dim);
        const int stretch = 1 << std::max(0, i - 1), first = i ? dim * stretch : 0;
        for (size_t h = 0; h < width; h++)
            for (int j = 0; j < dim * stretch; j++) k[h * all + first + j] = stored[h * dim + j / stretch];
        tensors["s.kernel_list." + std::to_string(i)] = {{1, width, dim}, parameters};
    }
    const std::vector<float> d = random_numbers(width, 9, 1);
    for (size_t h = 0; h < width; h++) k[h * all] += double{d[h]};
    tensors["s.D"] = {{1, width}, d};
    tensors["s.kernel_norm"] = {{1, width, 1}, std::vector<float>(width, 1)};
    tensors["s.kernel_norm_initialized"] = {{1}, {1}};
    tensors["s.multiplier"] = {{1}, {1}};
    const json layer = {{"type", "sgconv"},
                        {"name", "s"},
                        {"kernel_dim", dim},
                        {"l_max", dim << (scales - 1)},
                        {"mode", "cat_randn_nearest"},
                        {"linear", true},
                        {"activation", "identity"}};
    for (const char *algorithm : {"direct", "dyadic"}) {
        INFO(algorithm);
        const auto made = compiled_with(layer, tensors, "int8", algorithm, true);
        REQUIRE_MESSAGE(made, made.status().message());
        equals(*made, sums(k, {}), true);
    }
}

TEST_CASE("stored taps: one channel with many copies") {
    constexpr size_t copies = 48, length = 40;
    const std::vector<float> k = random_numbers(copies * length, 1, 0.3),
                             x(input().begin(), input().begin() + rows);
    Tensors tensors;
    tensors["s.kernel_list.0"] = {{copies, 1, length}, k};
    tensors["s.kernel_norm"] = {{copies, 1, 1}, std::vector<float>(copies, 1)};
    tensors["s.kernel_norm_initialized"] = {{1}, {1}};
    tensors["s.multiplier"] = {{1}, {1}};
    tensors["s.D"] = {{copies, 1}, std::vector<float>(copies, 0.5f)};
    const json layer = {{"type", "sgconv"}, {"name", "s"},         {"kernel_dim", length},
                        {"l_max", length},  {"num_scales", 1},     {"channels", copies},
                        {"linear", true},   {"mode", "cat_randn"}, {"activation", "identity"}};
    const auto made = compiled_with(layer, tensors, "int8", "", true, 1);
    REQUIRE_MESSAGE(made, made.status().message());
    std::vector<float> others = k;
    for (size_t c = 0; c < copies; c++) others[c * length] = 0;
    std::vector<double> stored = rounded(others, length), expected(rows * copies);
    for (size_t c = 0; c < copies; c++) stored[c * length] = double{k[c * length]} + 0.5;
    for (size_t t = 0; t < rows; t++)
        for (size_t c = 0; c < copies; c++)
            for (size_t j = 0; j < length && j <= t; j++)
                expected[t * copies + c] += stored[c * length + j] * double{x[t - j]};
    const auto model = cli::Model::open(made->artifact);
    REQUIRE_MESSAGE(model, model.status().message());
    CHECK(distance(outputs_of_run(*model, sequence_of(x, 1))[0], expected) <= limit);
    CHECK(distance(streamed(*model, x.data(), rows), expected) <= limit);
}

TEST_CASE("stored taps: int8 and int4 round them to the same bytes, bf16 leaves them float32") {
    const auto bytes = [](const char *weights) {
        const auto made = compiled_with(beside_identity(true), tensors_of(true), weights, "direct", true);
        REQUIRE_MESSAGE(made, made.status().message());
        return json::parse(made->report)["weights_bytes"].get<size_t>();
    };
    constexpr size_t lanes = 32, groups = 4;
    CHECK(bytes("float32") == 4 * taps * lanes);
    CHECK(bytes("bf16") == bytes("float32"));
    CHECK(bytes("int8") == taps * lanes + 4 * groups * lanes + 4 * lanes); // with scales and tap 0
    CHECK(bytes("int4") == bytes("int8"));
}

TEST_CASE("stored taps: the report has their error") {
    const auto made = compiled_with(beside_identity(true), tensors_of(true), "int8", "direct", true);
    REQUIRE_MESSAGE(made, made.status().message());
    const json layer = json::parse(made->report)["stored_weights"]["layers"][0];
    const std::vector<float> exact = falling_taps(1);
    const std::vector<double> stored = stored_taps();
    double difference = 0, size = 0;
    for (size_t i = 0; i < exact.size(); i++) {
        if (i % taps == 0) continue;
        difference += std::pow(exact[i] - stored[i], 2), size += std::pow(double{exact[i]}, 2);
    }
    CHECK(layer["format"] == "int8");
    CHECK(layer["error"].get<double>() == doctest::Approx(std::sqrt(difference / size)).epsilon(1e-6));
}

TEST_CASE("stored taps: short filters stay float32") {
    Tensors tensors;
    tensors["c.long.k0"] = {{width, 31}, random_numbers(width * 31, 1, 0.3)};
    const auto made = compiled_with(beside_identity(true), tensors, "int8", "direct", true);
    REQUIRE_MESSAGE(made, made.status().message());
    CHECK(!json::parse(made->report).contains("stored_weights"));
}

TEST_CASE("stored taps: one kernel of one channel stays float32") {
    Tensors tensors;
    tensors["c.long.k0"] = {{1, taps}, random_numbers(taps, 1, 0.3)};
    const auto made = compiled_with(beside_identity(true), tensors, "int8", "", true, 1);
    REQUIRE_MESSAGE(made, made.status().message());
    CHECK(!json::parse(made->report).contains("stored_weights"));
}

} // namespace stored_taps_test
