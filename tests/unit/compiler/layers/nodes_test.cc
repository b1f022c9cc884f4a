// What the graph of a version 2 package becomes, as graph text, and every refusal.
#include "compiler/ir/text.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <doctest/doctest.h>

namespace nodes_test {

using namespace longwave;
using namespace longwave::tests;
using nlohmann::json;

namespace {

// The output "y" is the last node.
Expected<ir::Graph> lowered_nodes(const std::string &nodes, Weights weights, const std::string &from = "") {
    json model = {
        {"format", "longwave-model"}, {"version", 2}, {"name", "tiny"}, {"graph", json::parse(nodes)}};
    model["inputs"] = {{{"name", "x"}, {"kind", "features"}, {"width", 4}}};
    model["outputs"] = {
        {{"name", "y"}, {"from", from.empty() ? model["graph"].back()["name"].get<std::string>() : from}}};
    LW_ASSIGN(const package::Package package, package::parse(model.dump(), std::move(weights)));
    return compiler::lower(package);
}

void refused(const std::string &nodes, Weights weights, const std::string &message) {
    const auto graph = lowered_nodes(nodes, std::move(weights));
    REQUIRE(!graph);
    CHECK(graph.status().fault() == Fault::input);
    CHECK(graph.status().message() == message);
}

} // namespace

TEST_CASE("nodes: a node is one op, types and clocks follow, nodes that name one tensor share it") {
    const auto graph = lowered_nodes(R"([
        {"name": "a/conv", "op": "conv2d", "inputs": ["x", {"tensor": "k"}],
         "attributes": {"bias": 0, "frequency": 0, "groups": 1, "stride_f": 1, "stride_t": 2}},
        {"name": "a/scale", "op": "affine", "inputs": ["a/conv", {"tensor": "s"}, {"tensor": "s"}]},
        {"name": "b/norm", "op": "rms_norm", "inputs": ["a/scale", {"tensor": "s"}], "attributes": {"eps": 1}}])",
                                     weights_of({{"k", {3, 4, 2, 1}}, {"s", {3}}}));
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK("\n" + ir::print(*graph) == R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = const "k" : [3,4,2,1]
%2 = conv2d(%0, %1) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=2} : f32[3] @1/2 causal   ; layer a
%3 = const "s" : [3]
%4 = affine(%2, %3, %3) : f32[3] @1/2 causal   ; layer a
%5 = rms_norm(%4, %3) {eps=1.0} : f32[3] @1/2 causal   ; layer b
output "y" %5
)");
}

TEST_CASE("nodes: a layer among them becomes its ops") {
    const auto graph = lowered_nodes(R"([
        {"name": "a/relu", "op": "relu", "inputs": ["x"]},
        {"type": "linear", "name": "b", "input": "a/relu", "out_features": 2, "bias": false},
        {"name": "c/gelu", "op": "gelu", "inputs": ["b"]}])",
                                     weights_of({{"b.weight", {2, 4}}}));
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK("\n" + ir::print(*graph) == R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = relu(%0) : f32[4] @1/1 causal   ; layer a
%2 = const "b.weight" : [2,4]
%3 = linear(%1, %2) {bias=0} : f32[2] @1/1 causal   ; layer b
%4 = gelu(%3) : f32[2] @1/1 causal   ; layer c
output "y" %4
)");
    refused(
        R"([{"name": "a", "op": "nothing", "inputs": ["x"]},
                {"type": "linear", "name": "b", "input": "a", "out_features": 2},
                {"type": "linear", "name": "c", "input": "x", "out_features": 2, "bias": false}])",
        weights_of({{"c.weight", {2, 5}}}),
        "graph[0].op: expected an op of docs/ops.md, found \"nothing\"\n"
        "graph[2] (c): tensor \"c.weight\": expected shape [2, 4], found [2, 5]; set the options that the "
        "weights were trained with, or name another tensor with \"keys\"");
}

TEST_CASE("nodes: unknown ops, missing tensors and inputs that do not fit are refused with their place") {
    refused(R"([{"name": "a", "op": "rleu", "inputs": ["x"]}])", {},
            "graph[0].op: expected an op of docs/ops.md, found \"rleu\"; did you mean \"relu\"?");
    refused(
        R"([{"name": "a", "op": "linear", "inputs": ["x", {"tensor": "a.weigth"}], "attributes": {"bias": 0}}])",
        weights_of({{"a.weight", {2, 4}}}),
        "graph[0].inputs[1]: expected the key of a tensor, found \"a.weigth\"; did you mean \"a.weight\"?");
    refused(
        R"([{"name": "a/l", "op": "linear", "inputs": ["x", {"tensor": "w"}], "attributes": {"bias": 0}}])",
        weights_of({{"w", {2, 5}}}), "graph[0]: layer a: linear: weight expected shape [any,4], found [2,5]");
    refused(R"([{"name": "a/l", "op": "linear", "inputs": ["x", {"tensor": "w"}]}])",
            weights_of({{"w", {2, 4}}}),
            "graph[0]: layer a: linear: attribute bias is missing: expected an integer");
    refused(R"([{"name": "a", "op": "relu", "inputs": ["x"], "attributes": {"slope": 1}}])", {},
            "graph[0]: layer a: relu: attribute slope is unknown to this op");
    refused(R"([{"name": "a", "op": "affine", "inputs": ["x", {"tensor": "w"}, {"tensor": "w"}]}])",
            weights_of({{"w", {0, 4}}}),
            "graph[0].inputs[1]: expected a tensor of 1 to 2147483648 elements, found shape [0, 4]\n"
            "graph[0].inputs[2]: expected a tensor of 1 to 2147483648 elements, found shape [0, 4]");
}

TEST_CASE("nodes: causes are reported, all of them, and what only follows from them is not") {
    refused(R"([{"name": "a", "op": "nothing", "inputs": ["x"]},
                {"name": "b", "op": "relu", "inputs": ["a"]},
                {"name": "c", "op": "affine", "inputs": ["x", {"tensor": "s"}, {"tensor": "s"}]},
                {"name": "d", "op": "add", "inputs": ["b", "c"]}])",
            {},
            "graph[0].op: expected an op of docs/ops.md, found \"nothing\"\n"
            "graph[2].inputs[1]: expected the key of a tensor, found \"s\"\n"
            "graph[2].inputs[2]: expected the key of a tensor, found \"s\"");
}

TEST_CASE("nodes: an output must depend on an input") {
    refused(R"([{"name": "a", "op": "relu", "inputs": [{"tensor": "s"}]}])", weights_of({{"s", {4}}}),
            "outputs: expected the name of a layer, node or input that depends on an input, found \"a\"");
}

} // namespace nodes_test
