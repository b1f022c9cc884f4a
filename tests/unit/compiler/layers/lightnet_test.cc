// LightNet's layers as graph text, and what they refuse.
#include "compiler/ir/op.h"
#include "compiler/ir/text.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <cmath>
#include <doctest/doctest.h>

namespace lightnet_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

const Shapes block = {{"a.q_proj.weight", {4, 4}},
                      {"a.k_proj.weight", {4, 4}},
                      {"a.v_proj.weight", {4, 4}},
                      {"a.o_proj.weight", {4, 4}},
                      {"a.output_gate.0.weight", {2, 4}},
                      {"a.output_gate.1.weight", {4, 2}},
                      {"a.norm.weight", {4}},
                      {"a.lrpe.theta", {1, 2}}};

std::string attention(const std::string &options) {
    return R"([{"type": "lightnet_attention", "name": "a", "heads": 2, "gate_rank": 2)" + options + "}]";
}

// The ops in order, with the sum that a running softmax begins with.
std::string ops(const ir::Graph &graph) {
    std::string text;
    for (const ir::Node &node : graph.nodes) {
        text += std::string(text.empty() ? "" : " ") + node.op->name;
        if (node.has("start")) text += node.integer("start") ? "(1)" : "(0)";
    }
    return text;
}

std::string ops_of(const std::string &layers, Weights weights, const std::string &input = "features 4") {
    auto graph = lowered(input, layers, std::move(weights));
    REQUIRE_MESSAGE(graph, graph.status().message());
    auto again = ir::parse(ir::print(*graph));
    REQUIRE_MESSAGE(again, again.status().message());
    CHECK(ir::print(*again) == ir::print(*graph));
    return ops(*graph);
}

void refused(const std::string &layers, Weights weights, const std::vector<std::string> &words,
             const std::string &input = "features 4") {
    const auto graph = lowered(input, layers, std::move(weights));
    REQUIRE_FALSE(graph);
    for (const std::string &word : words)
        CHECK_MESSAGE(graph.status().message().find(word) != std::string::npos, graph.status().message());
}

} // namespace

TEST_CASE("lower: lightnet_attention, its gate behind the norm or before it, or none of both") {
    CHECK(ops_of(attention(""), weights_of(block)) ==
          "linear silu linear linear cumulative_softmax(0) decaying_attention linear linear sigmoid rms_norm "
          "mul linear");
    CHECK(ops_of(attention(
                     R"(, "gate": "before_norm", "gate_activation": "silu", "initial_sum": 1, "scale": 0.5)"),
                 weights_of(block)) == "linear silu affine linear linear cumulative_softmax(1) "
                                       "decaying_attention linear linear silu mul rms_norm linear");
    CHECK(
        ops_of(
            attention(
                R"(, "gate": null, "norm": null, "output_projection": false, "query_activation": "identity")"),
            weights_of(block)) == "linear linear linear cumulative_softmax(0) decaying_attention");
}

TEST_CASE("lower: lightnet_attention rotates queries and weights, not what decays") {
    auto graph =
        lowered("features 4",
                attention(R"(, "lrpe": "cosine", "gate": null, "norm": null, "output_projection": false)"),
                weights_of(block));
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK(ops(*graph) == "linear silu linear linear cumulative_softmax(0) lrpe lrpe decaying_attention");
    const ir::Node &core = graph->nodes.back();
    REQUIRE(core.inputs.size() == 4);
    CHECK(std::string(graph->producer(core.inputs[1])->op->name) == "cumulative_softmax");
    CHECK(graph->producer(core.inputs[3])->inputs[0] == core.inputs[1]);
    CHECK(graph->type(core.inputs[0]).dims[0] == 8);
}

TEST_CASE("lower: what is not causal attends to the whole sequence") {
    CHECK(ops_of(attention(R"(, "causal": false, "gate": null)"), weights_of(block)) ==
          "linear silu linear linear sequence_softmax linear_attention_offline rms_norm linear");
}

TEST_CASE("lower: Θ that the package does not hold comes from its base, in float32 as published") {
    Weights weights = weights_of(block);
    weights.erase("a.lrpe.theta");
    const auto graph = lowered("features 4", attention(R"(, "lrpe": "cosine", "lrpe_base": 10000)"), weights);
    REQUIRE_MESSAGE(graph, graph.status().message());
    for (const ir::Constant &c : graph->constants)
        if (c.key == "a.lrpe.theta.each") {
            REQUIRE(c.data.size() == 4);
            CHECK(c.data[0] == 1);
            CHECK(c.data[1] == double{static_cast<float>(std::pow(10000.0, -1.0))});
            CHECK(c.data[3] == c.data[1]); // the same for both heads
        }
    refused(attention(R"(, "lrpe": "cosine")"), weights, {"\"a.lrpe.theta\"", "no such tensor"});
}

TEST_CASE("lower: a mask is a second input of width 1") {
    const std::string mask = R"([{"type": "linear", "name": "m", "out_features": 1, "bias": false},
        {"type": "lightnet_attention", "name": "a", "inputs": ["x", "m"], "gate": null)";
    Shapes shapes = block;
    shapes.push_back({"m.weight", {1, 4}});
    auto graph = lowered("features 4", mask + "}]", weights_of(shapes));
    REQUIRE_MESSAGE(graph, graph.status().message());
    for (const ir::Node &node : graph->nodes)
        if (std::string(node.op->name) == "cumulative_softmax") CHECK(node.inputs.size() == 2);
    refused(mask + R"(, "causal": false}])", weights_of(shapes),
            {"layers[1].inputs (a)", "one input where causal is false", "without its padding"});
    refused(R"([{"type": "lightnet_attention", "name": "a", "inputs": ["x", "x"], "gate": null}])",
            weights_of(block), {"layers[0].inputs (a)", "a mask of width 1", "rows of 4"});
}

TEST_CASE("lower: lightnet_attention says what it expected, all at once") {
    Weights weights = weights_of(block);
    weights.erase("a.k_proj.weight");
    weights["a.norm.weight"] = {{3}, std::vector<float>(3, 1.0f)};
    refused(attention(""), weights,
            {"\"a.k_proj.weight\"", "no such tensor", "\"a.norm.weight\"", "shape [4], found [3]"});
    refused(attention(R"(, "key_width": 5)"), weights_of(block),
            {"layers[0].key_width (a)", "a multiple of the 2 heads"});
    refused(attention(R"(, "lrpe": "cosine", "shape": "4by4")"), weights_of(block),
            {"layers[0].shape (a)", "\"8x11\"", "\"4by4\""});
    refused(attention(R"(, "lrpe": "cosine", "conditions": 2)"), weights_of(block),
            {"layers[0].conditions (a)", "0 without \"shape\""});
    refused(attention(""), weights_of(block), {"an embedding turns ids into rows"}, "tokens 4");
}

TEST_CASE("lower: tpe collapses to one decaying sum a channel; over an image one for each axis") {
    const Shapes one = {{"t.q", {4}},
                        {"t.k", {4}},
                        {"t.log_decay", {2}},
                        {"t.norm.weight", {4}},
                        {"t.o_proj.weight", {4, 4}}};
    const std::string layer = R"([{"type": "tpe", "name": "t", "heads": 2)";
    Weights weights = weights_of(one, 2);
    CHECK(ops_of(layer + "}]", weights) == "exponential_scan rms_norm linear");
    const auto graph = lowered("features 4", layer + "}]", weights);
    for (const ir::Constant &c : graph->constants) {
        if (c.key == "t.q.gain") CHECK(c.data[0] == 8); // 2·2 + 2·2
        if (c.key == "t.log_decay.lambda")
            CHECK(c.data[3] == doctest::Approx(1 / (1 + std::exp(-2.0))).epsilon(1e-14));
    }
    Shapes two;
    for (const auto &[key, shape] : one)
        for (const char *axis : {"t.tpes.0.", "t.tpes.1."}) two.emplace_back(axis + key.substr(2), shape);
    CHECK(ops_of(layer + R"(, "shape": "2x3"}])", weights_of(two)) ==
          "exponential_scan rms_norm linear exponential_scan rms_norm linear add");
    CHECK(ops_of(R"([{"type": "exponential_sums", "name": "s", "modes": 3, "shape": "2x3"}])",
                 weights_of({{"s.lambda", {2, 4, 3}}, {"s.c", {2, 4, 3}}})) ==
          "exponential_scan exponential_scan add");
}

TEST_CASE("lower: gated_mlp, lrpe") {
    CHECK(ops_of(R"([{"type": "gated_mlp", "name": "f", "hidden": 6}])",
                 weights_of({{"f.w1.weight", {6, 4}}, {"f.w2.weight", {6, 4}}, {"f.w3.weight", {4, 6}}})) ==
          "linear silu linear mul linear");
    CHECK(ops_of(R"([{"type": "lrpe", "name": "p", "heads": 2}])", weights_of({{"p.theta", {2, 2}}})) ==
          "lrpe");
    refused(R"([{"type": "lrpe", "name": "p", "heads": 3}])", weights_of({{"p.theta", {2}}}),
            {"layers[0].heads (p)", "a divisor of the 4 features"});
}

} // namespace lightnet_test
