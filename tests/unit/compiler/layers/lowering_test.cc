// What norms, activations, residuals and heads become, as graph text; outputs, examples, and the
// order of weights.
#include "compiler/ir/verify.h"
#include "tests/unit/compiler/layers/lowered.h"
#include <cmath>

namespace lowering_test {

using namespace longwave;
using namespace longwave::tests;

TEST_CASE(
    "lower: norms become the op of their name; the scalars of transposed_layer_norm may be 0-dimensional") {
    becomes("features 6",
            R"([{"type": "layer_norm", "name": "l"},
             {"type": "transposed_layer_norm", "name": "t"},
             {"type": "rms_norm", "name": "r", "eps": 0.5}])",
            weights_of({{"l.weight", {6}}, {"l.bias", {6}}, {"t.m", {}}, {"t.s", {1}}, {"r.weight", {6}}}),
            R"(
graph "tiny"
%0 = input "x" features : f32[6] @1/1 causal
%1 = const "l.weight" : [6]
%2 = const "l.bias" : [6]
%3 = layer_norm(%0, %1, %2) {eps=1e-05} : f32[6] @1/1 causal   ; layer l
%4 = const "t.m" : [1]
%5 = const "t.s" : [1]
%6 = transposed_layer_norm(%3, %4, %5) : f32[6] @1/1 causal   ; layer t
%7 = const "r.weight" : [6]
%8 = rms_norm(%6, %7) {eps=0.5} : f32[6] @1/1 causal   ; layer r
output "y" %8
)");
}

TEST_CASE("lower: activations become the op of their name") {
    becomes("features 6",
            R"([{"type": "relu", "name": "a"},
             {"type": "gelu", "name": "b"},
             {"type": "silu", "name": "c"},
             {"type": "sigmoid", "name": "d"},
             {"type": "tanh", "name": "e"},
             {"type": "softmax", "name": "f"},
             {"type": "softplus", "name": "g"},
             {"type": "glu", "name": "h"}])",
            {},
            R"(
graph "tiny"
%0 = input "x" features : f32[6] @1/1 causal
%1 = relu(%0) : f32[6] @1/1 causal   ; layer a
%2 = gelu(%1) : f32[6] @1/1 causal   ; layer b
%3 = silu(%2) : f32[6] @1/1 causal   ; layer c
%4 = sigmoid(%3) : f32[6] @1/1 causal   ; layer d
%5 = tanh(%4) : f32[6] @1/1 causal   ; layer e
%6 = softmax(%5) : f32[6] @1/1 causal   ; layer f
%7 = softplus(%6) : f32[6] @1/1 causal   ; layer g
%8 = glu(%7) : f32[3] @1/1 causal   ; layer h
output "y" %8
)");
}

TEST_CASE("lower: embedding, window mean and last position") {
    becomes("tokens 5",
            R"([{"type": "embedding", "name": "e", "vocabulary": 5, "width": 3},
             {"type": "mean_window", "name": "w", "frames": 7},
             {"type": "last", "name": "l"}])",
            weights_of({{"e.weight", {5, 3}}}),
            R"(
graph "tiny"
%0 = input "x" tokens vocabulary=5 : i32[1] @1/1 causal
%1 = const "e.weight" : [5,3]
%2 = embedding(%0, %1) : f32[3] @1/1 causal   ; layer e
%3 = mean_window(%2) {frames=7} : f32[3] @1/1 causal   ; layer w
%4 = mean(%3) {mode="last"} : f32[3] @0/1 causal   ; layer l
output "y" %4
)");
}

TEST_CASE("lower: a residual normalises before its layers") {
    becomes(
        "features 4",
        R"([{"type": "residual", "name": "b", "norm": {"type": "rms_norm"}, "layers": [{"type": "linear", "name": "f", "out_features": 4, "bias": false}, {"type": "relu", "name": "r"}]}])",
        weights_of({{"b.norm.weight", {4}}, {"f.weight", {4, 4}}}),
        R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = const "b.norm.weight" : [4]
%2 = rms_norm(%0, %1) {eps=1e-06} : f32[4] @1/1 causal   ; layer b/norm
%3 = const "f.weight" : [4,4]
%4 = linear(%2, %3) {bias=0} : f32[4] @1/1 causal   ; layer b/f
%5 = relu(%4) : f32[4] @1/1 causal   ; layer b/r
%6 = add(%0, %5) : f32[4] @1/1 causal   ; layer b
output "y" %6
)");
}

TEST_CASE("lower: a residual normalises after its sum, and layers that name one tensor share a constant") {
    becomes(
        "features 4",
        R"([{"type": "residual", "name": "b", "prenorm": false, "norm": {"type": "rms_norm", "prefix": "n"}, "layers": [{"type": "linear", "name": "f", "prefix": "g", "out_features": 4, "bias": false}]},
             {"type": "residual", "name": "c", "norm": null, "layers": [{"type": "linear", "name": "f", "prefix": "g", "out_features": 4, "bias": false}]}])",
        weights_of({{"n.weight", {4}}, {"g.weight", {4, 4}}}),
        R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = const "g.weight" : [4,4]
%2 = linear(%0, %1) {bias=0} : f32[4] @1/1 causal   ; layer b/f
%3 = add(%0, %2) : f32[4] @1/1 causal   ; layer b
%4 = const "n.weight" : [4]
%5 = rms_norm(%3, %4) {eps=1e-06} : f32[4] @1/1 causal   ; layer b/norm
%6 = linear(%5, %1) {bias=0} : f32[4] @1/1 causal   ; layer c/f
%7 = add(%5, %6) : f32[4] @1/1 causal   ; layer c
output "y" %7
)");
}

TEST_CASE("lower: two pooled values and their pair features") {
    becomes("features 4",
            R"([{"type": "mean", "name": "m"},
             {"type": "sum", "name": "s", "input": "x"},
             {"type": "pair_features", "name": "p", "inputs": ["m", "s"]},
             {"type": "linear", "name": "l", "out_features": 2, "bias": false}])",
            weights_of({{"l.weight", {2, 16}}}),
            R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = mean(%0) {mode="mean"} : f32[4] @0/1 causal   ; layer m
%2 = mean(%0) {mode="sum"} : f32[4] @0/1 causal   ; layer s
%3 = pair_features(%1, %2) : f32[4,4] @0/1 causal   ; layer p
%4 = const "l.weight" : [2,16]
%5 = linear(%3, %4) {bias=0} : f32[2] @0/1 causal   ; layer l
output "y" %5
)");
}

TEST_CASE("lower: weights are rearranged where an op wants another order") {
    Weights weights = weights_of({{"fe.window", {2}}, {"fe.mean", {3}}, {"fe.scale", {3}}});
    weights["fe.mel"] = {{2, 3}, {0, 1, 2, 3, 4, 5}}; // (bins, bands)
    weights["fe.mean"].data = {1, 2, 3};
    weights["fe.scale"].data = {4, 5, 6};
    auto graph = lowered(
        "audio 8000", R"([{"type": "log_mel", "name": "fe", "window": 2, "hop": 1, "n_fft": 2, "bands": 3}])",
        weights);
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK(constant(*graph, "fe.mel.rows") == std::vector<double>{0, 3, 1, 4, 2, 5});
    CHECK(constant(*graph, "fe.mean.shift") ==
          std::vector<double>{-4, -10, -18}); // (x − mean)·scale = x·scale − mean·scale

    weights = {{"b.0.conv.weight", {{2, 1, 3}, {1, 2, 3, 4, 5, 6}}}};
    graph = lowered(
        "features 2",
        R"([{"type": "branches", "name": "b", "branches": [{"kind": "conv1d", "kernel": 3, "dilation": 3, "bias": false}]}])",
        weights);
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK(constant(*graph, "b.0.conv.weight.dilated") ==
          std::vector<double>{1, 0, 0, 2, 0, 0, 3, 4, 0, 0, 5, 0, 0, 6});
}

TEST_CASE("lower: outputs may come from any layer, an inner one or an input") {
    using nlohmann::json;
    const json model = {
        {"format", "longwave-model"},
        {"version", 1},
        {"name", "m"},
        {"inputs", {{{"name", "x"}, {"kind", "features"}, {"width", 4}}}},
        {"layers",
         {{{"type", "residual"},
           {"name", "b"},
           {"norm", nullptr},
           {"layers", {{{"type", "relu"}, {"name", "r"}}, {{"type", "gelu"}, {"name", "g"}}}}}}},
        {"outputs",
         {{{"name", "inner"}, {"from", "b/r"}},
          {{"name", "in"}, {"from", "x"}},
          {{"name", "same"}, {"from", "b/r"}}}}};
    auto package = package::parse(model.dump(), {});
    REQUIRE_MESSAGE(package, package.status().message());
    auto graph = compiler::lower(*package);
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK(ir::print(*graph) == R"(graph "m"
%0 = input "x" features : f32[4] @1/1 causal
%1 = relu(%0) : f32[4] @1/1 causal   ; layer b/r
output "inner" %1
output "in" %0
output "same" %1
)");
}

TEST_CASE("lower: the hand-written example packages are read and lowered") {
    for (const char *name : {"tiny", "pair"}) {
        auto package =
            package::read(std::string("examples/packages/") + name); // tests run at the root of the tree
        REQUIRE_MESSAGE(package, package.status().message());
        CHECK(package->unused.empty());
        auto graph = compiler::lower(*package);
        REQUIRE_MESSAGE(graph, graph.status().message());
        CHECK(ir::verify(*graph));
    }
}

} // namespace lowering_test
