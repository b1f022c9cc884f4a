// Graphs for tests: parsed from text, with numbers that can be checked by hand or with fixed random
// ones.
#pragma once
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/support/reference.h"
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace longwave::ir {

using Weights = std::map<std::string, std::vector<double>>;

// The generator's bits are fixed by the standard.
inline std::vector<double> random_numbers(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<double> out(n);
    for (double &x : out) x = static_cast<double>(random()) / 2147483648.0 - 1.0;
    return out;
}

inline Graph graph_of(const std::string &text, const Weights &weights = {}) {
    auto graph = parse(text, weights);
    REQUIRE_MESSAGE(graph, graph.status().message());
    const Status status = verify(*graph);
    REQUIRE_MESSAGE(status, status.message());
    return *std::move(graph);
}

inline Array rows_of(size_t width, std::vector<double> data) {
    const size_t rows = data.size() / width;
    return {rows, width, std::move(data)};
}

// The graph's first output on its first input.
inline Array run(const Graph &graph, const Array &x, size_t length = 0) {
    auto out = evaluate(graph, {{graph.inputs[0].name, x}}, length);
    REQUIRE_MESSAGE(out, out.status().message());
    return std::move((*out)[0]);
}

inline void check_close(const std::vector<double> &found, const std::vector<double> &expected,
                        double limit = 1e-12) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        INFO("element " << i << ": found " << found[i] << ", expected " << expected[i]);
        CHECK(std::abs(found[i] - expected[i]) <= limit);
    }
}

inline double largest_difference(const std::vector<double> &a, const std::vector<double> &b) {
    REQUIRE(a.size() == b.size());
    double error = 0;
    for (size_t i = 0; i < a.size(); ++i) error = std::max(error, std::abs(a[i] - b[i]));
    return error;
}

} // namespace longwave::ir
