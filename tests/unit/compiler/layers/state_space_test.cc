// state_space: what the layer makes of its own tensors and of those of the official S4D layer.
#include "tests/unit/compiler/ir/graphs.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <cmath>
#include <complex>

namespace state_space_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

Expected<ir::Graph> space(const std::string &options, Weights weights) {
    return lowered("features 2", R"([{"type": "state_space", "name": "s", "states": 1)" + options + "}]",
                   std::move(weights));
}

Weights s4d(float log_dt, float log_real, float imaginary) {
    Weights weights = weights_of({{"s.kernel.C", {2, 1, 2}}, {"s.D", {2}}});
    weights["s.kernel.log_dt"] = {{2}, std::vector<float>{log_dt, 0}};
    weights["s.kernel.log_A_real"] = {{2, 1}, std::vector<float>{log_real, 0}};
    weights["s.kernel.A_imag"] = {{2, 1}, std::vector<float>{imaginary, 0}};
    return weights;
}

const ir::Constant &constant(const ir::Graph &graph, const std::string &key) {
    for (const ir::Constant &c : graph.constants)
        if (c.key == key) return c;
    FAIL("no constant " << key);
    return graph.constants.front();
}

} // namespace

TEST_CASE("lower: state_space of an S4D holds its input for the length of a step") {
    // Δ = 1/2, A = −1 + 2i: c = 2 (1 + i) (e^{A/2} − 1) / A
    const auto graph = space(R"(, "s4d": true)", s4d(std::log(0.5f), 0, 2));
    REQUIRE_MESSAGE(graph, graph.status().message());
    const auto &poles = constant(*graph, "s.kernel.log_dt.poles"), &c = constant(*graph, "s.kernel.C.c");
    const std::complex<double> a(-1, 2),
        held = 2.0 * std::complex<double>(1, 1) * (std::exp(0.5 * a) - 1.0) / a;
    CHECK(poles.data[0] == doctest::Approx(-0.5).epsilon(1e-7)); // log_dt is float32
    CHECK(poles.data[1] == doctest::Approx(1.0).epsilon(1e-7));
    CHECK(c.data[0] == doctest::Approx(held.real()).epsilon(1e-6));
    CHECK(c.data[1] == doctest::Approx(held.imag()).epsilon(1e-6));
    CHECK(graph->nodes.back().integer("state") == 32);
}

TEST_CASE("lower: state_space keeps states that last longer than 4,096 rows in float64") {
    const auto graph = space(R"(, "s4d": true)", s4d(-9, 0, 2)); // e^-9 is below 1 / 4,096
    REQUIRE(graph);
    CHECK(graph->nodes.back().integer("state") == 64);
}

TEST_CASE("lower: state_space takes poles and amplitudes as they are, for several heads too") {
    Weights weights = weights_of({{"s.poles", {2, 1, 2}}, {"s.c", {3, 2, 1, 2}}, {"s.D", {3, 2}}}, -1);
    const auto graph = space(R"(, "channels": 3)", weights);
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK(graph->type(graph->nodes.back().output).dims == std::vector<uint32_t>{3, 2});
    CHECK(constant(*graph, "s.poles.poles").data[3] == -1);
}

TEST_CASE("lower: state_space refuses states that grow, and lists tensors that are missing") {
    const auto growing =
        space("", weights_of({{"s.poles", {2, 1, 2}}, {"s.c", {2, 1, 2}}, {"s.D", {2}}}, 0.5f));
    REQUIRE(!growing);
    CHECK(growing.status().message().find("a real part of at most 0, found 0.5") != std::string::npos);
    const auto missing = space(R"(, "s4d": true)", weights_of({{"s.kernel.C", {2, 1, 2}}, {"s.D", {3}}}));
    REQUIRE(!missing);
    for (const char *key : {"s.kernel.log_dt", "s.kernel.log_A_real", "s.kernel.A_imag", "s.D"})
        CHECK_MESSAGE(missing.status().message().find(key) != std::string::npos, missing.status().message());
}

} // namespace state_space_test
