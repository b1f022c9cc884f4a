// Recurrences from package to runs and streams, against float64 loops written from the definitions
// of the ops.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <complex>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace recurrences_test {

using namespace longwave;
using namespace longwave::test;

namespace {

std::string json_of(uint32_t width, uint32_t length, const std::string &nodes,
                    const std::string &last = "y") {
    return fmt::format(R"({{"format": "longwave-model", "version": 2, "name": "graph", "length": {},
        "inputs": [{{"name": "x", "kind": "features", "width": {}}}], "graph": [{}], "outputs": [{{"name": "y", "from": "{}"}}]}})",
                       length, width, nodes, last);
}

compiler::Options options_of_streams() {
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.blocks = {1, 64};
    return options;
}

cli::Model model_of(uint32_t width, uint32_t length, const std::string &nodes, Tensors weights) {
    return opened(compiled(json_of(width, length, nodes), std::move(weights), options_of_streams()));
}

package::Tensor tensor(std::vector<uint64_t> shape, std::vector<float> data) {
    return {std::move(shape), std::move(data)};
}

// S4D-Lin: poles −1/2 + iπn, steps from 0.001 to 0.1. Memories of 20 to 2,000 rows.
struct S4d {
    static constexpr size_t heads = 2, poles = 32;
    std::vector<float> log, c, d;
    S4d() : c(random_numbers(heads * poles * 2, 1, 0.1)), d(random_numbers(heads, 2)) {
        for (size_t h = 0; h < heads; h++)
            for (size_t n = 0; n < poles; n++) {
                const double step = h ? 0.1 : 0.001;
                log.push_back(static_cast<float>(-0.5 * step));
                log.push_back(static_cast<float>(3.14159265358979 * static_cast<double>(n) * step));
            }
    }
    Tensors tensors() const {
        return {{"p", tensor({heads, poles, 2}, log)},
                {"c", tensor({1, heads, poles, 2}, c)},
                {"d", tensor({1, heads}, d)}};
    }
    std::vector<double> rows(const std::vector<float> &x) const {
        std::vector<double> y(x.size());
        for (size_t h = 0; h < heads; h++) {
            std::vector<std::complex<double>> pole, state(poles);
            for (size_t n = 0; n < poles; n++)
                pole.push_back(
                    std::exp(std::complex<double>(log[2 * (h * poles + n)], log[2 * (h * poles + n) + 1])));
            for (size_t t = 0; t * heads < x.size(); t++) {
                double sum = double{d[h]} * x[t * heads + h];
                for (size_t n = 0; n < poles; n++) {
                    state[n] = pole[n] * state[n] + double{x[t * heads + h]};
                    sum += double{c[2 * (h * poles + n)]} * state[n].real() -
                           double{c[2 * (h * poles + n) + 1]} * state[n].imag();
                }
                y[t * heads + h] = sum;
            }
        }
        return y;
    }
};

std::string state_space(int state, const std::string &name = "y", const std::string &input = "x") {
    return fmt::format(
        R"({{"name": "{}", "op": "state_space", "inputs": ["{}", {{"tensor": "p"}}, {{"tensor": "c"}}, {{"tensor": "d"}}],
        "attributes": {{"channels": 1, "complex": 0, "state": {}}}}})",
        name, input, state);
}

} // namespace

// Rounding of a float32 state adds up over the memory of a pole: the square root of 2,000 rows
// times 2^-24 of the state, which the sum over 32 poles makes smaller against its peak. A float64
// state leaves the rounding of the sum.
TEST_CASE("state_space: a million rows against float64") {
    const S4d s4d;
    const auto x = random_numbers(S4d::heads * 1'000'000, 3);
    const auto expected = s4d.rows(x);
    for (const auto &[state, limit] : {std::pair(32, 4e-6), {64, 5e-7}}) {
        const cli::Model model = model_of(S4d::heads, 4096, state_space(state), s4d.tensors());
        const double error = distance(streamed(model, x.data(), 1'000'000, 1), expected);
        MESSAGE("float", state, ": ", error);
        CHECK(error < limit);
    }
}

// Four layers of 64 channels and 32 poles keep 64 kB, their taps 47 MB.
TEST_CASE("state_space: the state of a layer is its poles, the rows of a run and of streams are the same") {
    Tensors weights;
    const auto logs = random_numbers(64 * 32 * 2, 4, 1);
    std::vector<float> p(logs.size());
    for (size_t i = 0; i < p.size(); i++) p[i] = i % 2 ? 3 * logs[i] : -0.05f - 0.04f * logs[i];
    weights["p"] = tensor({64, 32, 2}, p);
    weights["c"] = tensor({1, 64, 32, 2}, random_numbers(64 * 32 * 2, 5, 0.2));
    weights["d"] = tensor({1, 64}, random_numbers(64, 6));
    const cli::Model model = model_of(64, 200, state_space(32), weights);
    CHECK(carried_bytes(model) == 64 * 32 * 2 * 4);
    const auto x = random_numbers(64 * 200, 7);
    const auto whole = outputs_of_run(model, sequence_of(x, 64))[0];
    for (uint32_t entry : {0u, 1u}) {
        const auto rows = streamed(model, x.data(), 200, entry);
        CHECK(distance(rows, whole) < 1e-6); // two orders of the same float32 sums
    }
}

// Taps and stages of transforms are rounded to float32: both stay within 1e-6 of the peak.
TEST_CASE("state_space: an offline run is a convolution, a stream a recurrence") {
    const S4d s4d;
    constexpr size_t rows = 4096;
    const auto x = random_numbers(S4d::heads * rows, 3);
    const auto made =
        compiled(json_of(S4d::heads, rows, state_space(64)), s4d.tensors(), options_of_streams());
    const cli::Model model = opened(made);
    const auto report = nlohmann::json::parse(made->report);
    for (const auto &choice : report["layers"][0]["algorithms"]) {
        const bool run = choice["entry"] == "run";
        CHECK(choice["algorithm"] == (run ? "convolution" : "recurrence"));
    }
    CHECK(distance(outputs_of_run(model, sequence_of(x, S4d::heads))[0], s4d.rows(x)) < 1e-6);
    const std::vector<float> few(x.begin(), x.begin() + S4d::heads * 70); // a shorter sequence than the run
    CHECK(distance(outputs_of_run(model, sequence_of(few, S4d::heads))[0], s4d.rows(few)) < 1e-6);
}

// Both become convolutions of one length, and so would have one table if they shared by its name.
TEST_CASE("state_space: a long convolution of the same layer keeps taps of its own") {
    const S4d s4d;
    constexpr size_t rows = 256, heads = S4d::heads;
    const auto x = random_numbers(heads * rows, 3), taps = random_numbers(heads * rows, 4, 0.1);
    Tensors weights = s4d.tensors();
    weights["k"] = tensor({1, heads, rows}, taps);
    weights["none"] = tensor({1, heads}, std::vector<float>(heads));
    const std::string nodes =
        R"({"name": "filter/conv", "op": "long_conv", "inputs": ["x", {"tensor": "k"}, {"tensor": "none"}],
        "attributes": {"channels": 1, "two_sided": 0}}, )" +
        state_space(64, "filter/space", "filter/conv");
    const auto made = compiled(json_of(heads, rows, nodes, "filter/space"), weights, options_of_streams());
    REQUIRE_MESSAGE(made, made.status().message());
    std::vector<float> middle(heads * rows);
    for (size_t t = 0; t < rows; t++)
        for (size_t h = 0; h < heads; h++) {
            double sum = 0;
            for (size_t j = 0; j <= t; j++) sum += double{taps[h * rows + j]} * x[(t - j) * heads + h];
            middle[t * heads + h] = static_cast<float>(sum);
        }
    CHECK(distance(outputs_of_run(opened(made), sequence_of(x, heads))[0], s4d.rows(middle)) < 1e-6);
}

TEST_CASE("state_space: a run keeps the recurrence where its states grow") {
    Tensors weights{{"p", tensor({1, 1, 2}, {0.001f, 1})},
                    {"c", tensor({1, 1, 1, 2}, {1, 0})},
                    {"d", tensor({1, 1}, {0})}};
    const auto made = compiled(json_of(1, 64, state_space(64)), weights, options_of_streams());
    REQUIRE_MESSAGE(made, made.status().message());
    const auto report = nlohmann::json::parse(made->report);
    for (const auto &choice : report["layers"][0]["algorithms"]) CHECK(choice["algorithm"] == "recurrence");
}

TEST_CASE("lstm and gru: 20,000 rows against float64, as a run and as streams") {
    constexpr size_t units = 24, length = 20'000;
    const auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
    for (const size_t gates : {4, 3}) {
        const auto w = random_numbers(gates * units * units, 8, 0.4), b = random_numbers(units, 9),
                   x = random_numbers(gates * units * length, 10, 2);
        std::vector<double> expected, h(units), c(units);
        for (size_t t = 0; t < length; t++) {
            std::vector<double> u(gates * units);
            for (size_t i = 0; i < u.size(); i++)
                for (size_t k = 0; k < units; k++) u[i] += double{w[i * units + k]} * h[k];
            const float *row = &x[t * gates * units];
            for (size_t i = 0; i < units; i++) {
                const auto gate = [&](size_t g) { return double{row[g * units + i]} + u[g * units + i]; };
                if (gates == 4) {
                    c[i] = logistic(gate(1)) * c[i] + logistic(gate(0)) * std::tanh(gate(2));
                    h[i] = logistic(gate(3)) * std::tanh(c[i]);
                } else {
                    const double z = logistic(gate(1)), r = logistic(gate(0));
                    h[i] = (1 - z) *
                               std::tanh(double{row[2 * units + i]} + r * (u[2 * units + i] + double{b[i]})) +
                           z * h[i];
                }
            }
            expected.insert(expected.end(), h.begin(), h.end());
        }
        const std::string node =
            gates == 4 ? R"({"name": "y", "op": "lstm", "inputs": ["x", {"tensor": "w"}]})"
                       : R"({"name": "y", "op": "gru", "inputs": ["x", {"tensor": "w"}, {"tensor": "b"}]})";
        Tensors weights{{"w", tensor({gates * units, units}, w)}};
        if (gates == 3) weights["b"] = tensor({units}, b);
        const cli::Model model = model_of(gates * units, length, node, weights);
        // Float32 gates: 24 products and three functions within a few units each, fed back by at
        // most the forget gate.
        CHECK(distance(outputs_of_run(model, sequence_of(x, gates * units))[0], expected) < 5e-6);
        for (uint32_t entry : {0u, 1u})
            CHECK(distance(streamed(model, x.data(), length, entry), expected) < 5e-6);
    }
}

} // namespace recurrences_test
