// Packages of version 2 from model.json to runs and streams, against float64 loops written from the
// definitions of the ops. The limit of 2e-6 of the peak is float32 rounding: sums of up to 40
// products.
#include "compiler/artifact/identity.h"
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <doctest/doctest.h>

namespace graph_packages_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t rows = 96, width = 5, taps = 40;
constexpr double limit = 2e-6;
using Rows = std::vector<std::vector<double>>;

Tensors weights() {
    Tensors all;
    const auto add = [&](const char *key, std::vector<uint64_t> shape, int seed) {
        uint64_t n = 1;
        for (const uint64_t extent : shape) n *= extent;
        all[key] = {shape, random_numbers(n, seed, 0.5)};
    };
    add("in", {2 * width, width}, 1);
    add("bias", {2 * width}, 2);
    add("taps", {1, width, taps}, 3);
    add("both", {2, width, taps}, 4);
    add("D", {1, width}, 5);
    add("conv", {width, width, 4, 1}, 6);
    add("scale", {width}, 7);
    return all;
}

std::string model_json(const std::string &nodes, const std::string &from) {
    return R"({"format": "longwave-model", "version": 2, "name": "graph", "length": 96,
        "inputs": [{"name": "x", "kind": "features", "width": 5}],
        "graph": )" +
           nodes + R"(, "outputs": [{"name": "y", "from": ")" + from + R"("}]})";
}

Rows input() {
    const auto numbers = random_numbers(rows * width, 9, 1);
    Rows x(rows, std::vector<double>(width));
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < width; i++) x[t][i] = numbers[t * width + i];
    return x;
}

Rows gated(const Rows &x) { // linear, glu
    const Tensors all = weights();
    Rows y(x.size(), std::vector<double>(width));
    for (size_t t = 0; t < x.size(); t++) {
        std::vector<double> z(2 * width);
        for (size_t o = 0; o < 2 * width; o++) {
            z[o] = all.at("bias").data[o];
            for (size_t i = 0; i < width; i++) z[o] += double{all.at("in").data[o * width + i]} * x[t][i];
        }
        for (size_t o = 0; o < width; o++) y[t][o] = z[o] / (1 + std::exp(-z[width + o]));
    }
    return y;
}

Rows convolved(const Rows &x, const char *key, bool two_sided) {
    const Tensors all = weights();
    const auto &k = all.at(key).data;
    Rows y(x.size(), std::vector<double>(width));
    for (size_t t = 0; t < x.size(); t++)
        for (size_t h = 0; h < width; h++) {
            y[t][h] = double{all.at("D").data[h]} * x[t][h];
            for (size_t j = 0; j < taps; j++) {
                if (t >= j) y[t][h] += double{k[h * taps + j]} * x[t - j][h];
                if (two_sided && t + 1 + j < x.size())
                    y[t][h] += double{k[(width + h) * taps + j]} * x[t + 1 + j][h];
            }
        }
    return y;
}

Rows strided(const Rows &x) { // four rows, every second one
    const Tensors all = weights();
    Rows y(x.size() / 2, std::vector<double>(width));
    for (size_t m = 0; m < y.size(); m++)
        for (size_t o = 0; o < width; o++)
            for (size_t c = 0; c < width; c++)
                for (size_t a = 0; a < 4; a++)
                    if (2 * m + a >= 2)
                        y[m][o] += double{all.at("conv").data[(o * width + c) * 4 + a]} * x[2 * m + a - 2][c];
    return y;
}

double error(const std::vector<float> &found, const Rows &expected) {
    std::vector<double> all;
    for (const auto &row : expected) all.insert(all.end(), row.begin(), row.end());
    return distance(found, all);
}

cli::Model model_of(const std::string &json, compiler::StreamMode stream) {
    compiler::Options options = options_here();
    options.stream = stream;
    if (stream == compiler::StreamMode::required) options.blocks = {1, 16};
    return opened(compiled(json, weights(), options));
}

std::vector<float> samples() { return random_numbers(rows * width, 9, 1); }

} // namespace

TEST_CASE("graph packages: gates, a long convolution and a strided one, as a run and as streams") {
    const cli::Model model = model_of(model_json(R"([
        {"name": "a/linear", "op": "linear", "inputs": ["x", {"tensor": "in"}, {"tensor": "bias"}], "attributes": {"bias": 1}},
        {"name": "a/glu", "op": "glu", "inputs": ["a/linear"]},
        {"name": "b/long_conv", "op": "long_conv", "inputs": ["a/glu", {"tensor": "taps"}, {"tensor": "D"}],
         "attributes": {"channels": 1, "two_sided": 0}},
        {"name": "c/add", "op": "add", "inputs": ["x", "b/long_conv"]},
        {"name": "d/conv2d", "op": "conv2d", "inputs": ["c/add", {"tensor": "conv"}],
         "attributes": {"stride_t": 2, "stride_f": 1, "groups": 1, "bias": 0, "frequency": 0}}])",
                                                 "d/conv2d"),
                                      compiler::StreamMode::required);
    CHECK(model.info.run_capacity == 96);
    Rows expected = convolved(gated(input()), "taps", false);
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < width; i++) expected[t][i] += input()[t][i];
    expected = strided(expected);
    CHECK(error(outputs_of_run(model, sequence_of(samples(), width))[0], expected) < limit);
    for (uint32_t entry : {0u, 1u})
        CHECK(error(streamed(model, samples().data(), rows, entry), expected) < limit);
}

TEST_CASE("graph packages: taps of lags below 0") {
    const cli::Model model = model_of(model_json(R"([
        {"name": "b", "op": "long_conv", "inputs": ["x", {"tensor": "both"}, {"tensor": "D"}],
         "attributes": {"channels": 1, "two_sided": 1}}])",
                                                 "b"),
                                      compiler::StreamMode::none);
    CHECK(error(outputs_of_run(model, sequence_of(samples(), width))[0], convolved(input(), "both", true)) <
          limit);
}

TEST_CASE("graph packages: other weights are another model, other tensor keys are not") {
    const std::string nodes =
        R"([{"name": "a", "op": "affine", "inputs": ["x", {"tensor": "KEY"}, {"tensor": "KEY"}]}])";
    const auto identity = [&](const std::string &key, float first) {
        std::string json = model_json(nodes, "a");
        for (size_t at; (at = json.find("KEY")) != std::string::npos;) json.replace(at, 3, key);
        std::vector<float> data(width, 0.5f);
        data[0] = first;
        const auto package = package::parse(json, {{key, {{width}, std::move(data)}}});
        REQUIRE_MESSAGE(package, package.status().message());
        return compiler::identity_of(*package, "");
    };
    CHECK(identity("s", 1).model == identity("s", 2).model);
    CHECK(identity("s", 1).weights != identity("s", 2).weights);
    CHECK(identity("s", 1).model == identity("other", 1).model);
    CHECK(identity("s", 1).weights == identity("other", 1).weights);
}

} // namespace graph_packages_test
