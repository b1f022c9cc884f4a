// LightNet from package to streams: a block with cosine positions, row by row, in chunks of 16, in
// blocks of 64 rows and as a whole run, against a float64 recurrence written from the definition;
// what its state is; and what is refused.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <doctest/doctest.h>

namespace lightnet_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t features = 4, heads = 2, dk = 8, dv = 16, keys = heads * dk, values = heads * dv;
constexpr size_t rows = 100'000, whole_rows = 2048, compared = 2048; // compared: the last of the long streams
// The matrix is within 1e-7 (the kernels' own test); the rest is the float32 of keys of up to 16,
// which are exponents, of queries and values, and of sums of 16 products.
constexpr double limit = 2e-6;

struct Numbers {
    std::vector<float> q = random_numbers(keys * features, 1, 1), k = random_numbers(keys * features, 2, 4),
                       v = random_numbers(values * features, 3, 1), theta = random_numbers(dk, 4, 1),
                       x = random_numbers(rows * features, 5, 1);
};
const Numbers &numbers() {
    static const Numbers all;
    return all;
}

// Rows [first, last) of the result: queries on the matrix, from the definition.
std::vector<double> reference(size_t first, size_t last) {
    std::vector<double> state(heads * 2 * dk * dv), z(keys, -INFINITY), kept;
    const Numbers &n = numbers();
    for (size_t t = 0; t < last; t++) {
        const auto project = [&](const std::vector<float> &w, size_t i) {
            double sum = 0;
            for (size_t f = 0; f < features; f++)
                sum += static_cast<double>(w[i * features + f]) * n.x[t * features + f];
            return sum;
        };
        std::vector<double> o(values, 0.0);
        for (size_t i = 0; i < keys; i++) {
            const double q = project(n.q, i), k = project(n.k, i), top = std::max(z[i], k),
                         phase = static_cast<double>(t) * n.theta[i % dk];
            z[i] = top + std::log(std::exp(z[i] - top) + std::exp(k - top));
            const double w = std::exp(k - z[i]);
            for (const size_t part : {0, 1}) {
                const double turn = part ? std::sin(phase) : std::cos(phase);
                for (size_t c = 0; c < dv; c++) {
                    double &element = state[(i * 2 + part) * dv + c];
                    element += w * (turn * project(n.v, i / dk * dv + c) - element);
                    o[i / dk * dv + c] += q / (1 + std::exp(-q)) * turn * element;
                }
            }
        }
        if (t >= first) kept.insert(kept.end(), o.begin(), o.end());
    }
    return kept;
}

Expected<compiler::Compiled> compiled_layer(const std::string &options, const std::vector<uint32_t> &blocks) {
    const std::string json = R"({"format": "longwave-model", "version": 1, "name": "lightnet",
        "inputs": [{"name": "x", "kind": "features", "width": 4}],
        "layers": [{"type": "lightnet_attention", "name": "a", "heads": 2, "key_width": 16, "value_width": 32,
                    "gate": null, "norm": null, "output_projection": false)" +
                             options + R"(}],
        "outputs": [{"name": "y", "from": "a"}]})";
    const Numbers &n = numbers();
    Tensors weights;
    weights["a.q_proj.weight"] = {{keys, features}, std::vector<float>(n.q)};
    weights["a.k_proj.weight"] = {{keys, features}, std::vector<float>(n.k)};
    weights["a.v_proj.weight"] = {{values, features}, std::vector<float>(n.v)};
    weights["a.lrpe.theta"] = {{dk}, std::vector<float>(n.theta)};
    compiler::Options to = options_here();
    to.stream = compiler::StreamMode::required;
    to.blocks = blocks;
    to.length = whole_rows;
    return compiled(json, std::move(weights), to);
}

cli::Model model_of(const std::vector<uint32_t> &blocks) {
    return opened(compiled_layer(R"(, "lrpe": "cosine")", blocks));
}

} // namespace

TEST_CASE(
    "lightnet: step, chunks, blocks of chunks and whole runs equal a float64 recurrence over 100,000 rows") {
    const std::vector<uint32_t> blocks{1, 16, 64};
    const cli::Model model = model_of(blocks);
    SUBCASE("a whole run") {
        const auto &x = numbers().x;
        const cli::Sequence in = sequence_of({x.begin(), x.begin() + whole_rows * features}, features);
        const double error = distance(outputs_of_run(model, in)[0], reference(0, whole_rows));
        MESSAGE("whole run: " << error);
        CHECK(error <= limit);
    }
    SUBCASE("streams of every block") {
        const std::vector<double> expected = reference(rows - compared, rows);
        for (uint32_t entry = 0; entry < blocks.size(); entry++) {
            const double error =
                distance(streamed(model, numbers().x.data(), rows, entry, rows - compared), expected);
            MESSAGE("block " << blocks[entry] << ": " << error);
            CHECK(error <= limit);
        }
    }
}

TEST_CASE(
    "lightnet: the state is the matrix in two floats, twice as high with positions, log S and counters") {
    const cli::Model model = model_of({16, 1, 64});
    // Rows so far: of the sum, of queries, of keys.
    CHECK(carried_bytes(model) ==
          2 * sizeof(float) * 2 * dk * values + sizeof(double) * keys + 3 * sizeof(double));
    for (uint32_t entry = 0; entry < model.info.stream_entries; entry++)
        CHECK(model.entry(entry).cache_bytes == 0);
}

TEST_CASE("lightnet: a stream of what is not causal is refused: which layer, why, and the way out") {
    const auto artifact = compiled_layer(R"(, "causal": false)", {16});
    REQUIRE_FALSE(artifact);
    const std::string message = artifact.status().message();
    CHECK_MESSAGE(
        message.find(
            "layer a looks ahead: its keys are normalised over the whole sequence (a softmax over time)") !=
            std::string::npos,
        message);
    CHECK_MESSAGE(message.find("compile without --stream for offline runs") != std::string::npos, message);
}

} // namespace lightnet_test
