// What a layer of SGConv becomes, as graph text.
#include "tests/unit/compiler/layers/lowered.h"
#include <cmath>

namespace sgconv_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

// An sgconv layer "c" on 4 features: C' rows, kernel_dim 2, `scales` lists.
Shapes sgconv_shapes(uint64_t copies, uint64_t rows, uint64_t scales) {
    Shapes shapes = {{"c.D", {copies, 4}},
                     {"c.kernel_norm", {rows, 4, 1}},
                     {"c.kernel_norm_initialized", {}},
                     {"c.multiplier", {1, 4, 1}}};
    for (uint64_t i = 0; i < scales; ++i)
        shapes.push_back({"c.kernel_list." + std::to_string(i), {rows, 4, 2}});
    return shapes;
}

} // namespace

TEST_CASE("lower: sgconv with everything on, two copies and both directions") {
    Shapes shapes = sgconv_shapes(2, 4, 3);
    shapes.insert(shapes.end(), {{"c.output_linear.0.weight", {8, 8}},
                                 {"c.output_linear.0.bias", {8}},
                                 {"c.norm.norm.weight", {8}},
                                 {"c.norm.norm.bias", {8}}});
    becomes(
        "features 4",
        R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 7, "channels": 2, "bidirectional": true, "layer_norm": true, "postact": "glu"}])",
        weights_of(shapes), R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = const "c.kernel_list.0" : [4,4,2]
%2 = const "c.kernel_list.1" : [4,4,2]
%3 = const "c.kernel_list.2" : [4,4,2]
%4 = const "c.multiplier" : [4]
%5 = const "zeros" : [4]
%6 = const "c.kernel_norm" : [4,4]
%7 = sgconv_kernel(%1, %2, %3, %6, %4, %5) {channels=4, heads=4, init_scale=0, kernel_dim=2, l_max=7, mode="cat_randn", num_scales=3, resolution=7} : f32[4,4,7] @0/1 causal   ; layer c
%8 = const "c.D" : [2,4]
%9 = long_conv(%0, %7, %8) {channels=2, two_sided=1} : f32[2,4] @1/1 noncausal   ; layer c
%10 = gelu(%9) : f32[2,4] @1/1 noncausal   ; layer c
%11 = const "c.norm.norm.weight" : [8]
%12 = const "c.norm.norm.bias" : [8]
%13 = layer_norm(%10, %11, %12) {eps=1e-05} : f32[2,4] @1/1 noncausal   ; layer c
%14 = const "c.output_linear.0.weight" : [8,8]
%15 = const "c.output_linear.0.bias" : [8]
%16 = linear(%13, %14, %15) {bias=1} : f32[8] @1/1 noncausal   ; layer c
%17 = glu(%16) : f32[4] @1/1 noncausal   ; layer c
output "y" %17
)");
}

TEST_CASE("lower: the bare convolution of a learnable kernel at half resolution, its norm computed") {
    Weights weights = weights_of(sgconv_shapes(1, 1, 2));
    set(weights["c.kernel_norm_initialized"], 0, 0);
    weights["c.multiplier"] = {{}, {1}};
    weights["c.decay"] = {{4}, {0, 0.5f, 1, 2}};
    const char *layers =
        R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 4, "linear": true, "mode": "cat_randn_learnable_trunc", "resolution": 2}])";
    becomes("features 4", layers, weights, R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = const "c.kernel_list.0" : [1,4,2]
%2 = const "c.kernel_list.1" : [1,4,2]
%3 = const "c.multiplier.each" : [4]
%4 = const "c.decay" : [4]
%5 = const "c.kernel_norm.computed" : [1,4]
%6 = sgconv_kernel(%1, %2, %5, %3, %4) {channels=1, heads=4, init_scale=0, kernel_dim=2, l_max=4, mode="cat_randn_learnable_trunc", num_scales=2, resolution=2} : f32[1,4,2] @0/1 causal   ; layer c
%7 = const "c.D" : [1,4]
%8 = long_conv(%0, %6, %7) {channels=1, two_sided=0} : f32[4] @1/1 causal   ; layer c
output "y" %8
)");
    // All weights are one, so tap p of channel h is (p + 1)^-decay_h, p = 0 … 3: over all K taps,
    // whatever the resolution.
    auto graph = lowered("features 4", layers, weights);
    REQUIRE(graph);
    const auto &norm = constant(*graph, "c.kernel_norm.computed");
    REQUIRE(norm.size() == 4);
    CHECK(norm[0] == doctest::Approx(2));
    CHECK(norm[1] == doctest::Approx(std::sqrt(1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0)));
    CHECK(norm[2] == doctest::Approx(std::sqrt(1 + 1 / 4.0 + 1 / 9.0 + 1 / 16.0)));
}

TEST_CASE("lower: the extra norm of sgconv is told by its keys") {
    Shapes shapes = sgconv_shapes(1, 1, 2);
    shapes.insert(shapes.end(), {{"c.output_linear.weight", {4, 4}},
                                 {"c.output_linear.bias", {4}},
                                 {"c.norm.norm.m", {1}},
                                 {"c.norm.norm.s", {1}}});
    auto graph = lowered(
        "features 4", R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 4, "layer_norm": true}])",
        weights_of(shapes));
    REQUIRE_MESSAGE(graph, graph.status().message());
    std::string ops;
    for (const auto &node : graph->nodes) ops += std::string(node.op->name) + " ";
    CHECK(ops == "sgconv_kernel long_conv gelu transposed_layer_norm linear ");
}

TEST_CASE("lower: the activations of sgconv are the ops they name") {
    auto ops_of = [](const std::string &options, const std::string &projection) {
        Shapes shapes = sgconv_shapes(1, 1, 2);
        shapes.insert(shapes.end(),
                      {{"c." + projection + "weight", {4, 4}}, {"c." + projection + "bias", {4}}});
        auto graph =
            lowered("features 4",
                    R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 4, )" + options + "}]",
                    weights_of(shapes));
        REQUIRE_MESSAGE(graph, graph.status().message());
        std::string ops;
        for (const auto &node : graph->nodes) ops += std::string(node.op->name) + " ";
        return ops;
    };
    CHECK(ops_of(R"("activation": "relu")", "output_linear.") == "sgconv_kernel long_conv relu linear ");
    CHECK(ops_of(R"("activation": "identity")", "output_linear.") == "sgconv_kernel long_conv linear ");
    CHECK(ops_of(R"("postact": "silu")", "output_linear.0.") == "sgconv_kernel long_conv gelu linear silu ");
    CHECK(ops_of(R"("activation": "tanh", "postact": "identity")", "output_linear.0.") ==
          "sgconv_kernel long_conv tanh linear ");
}

TEST_CASE("lower: the number of scales follows from l_max as in the official code") {
    auto scales = [](uint32_t l_max, uint32_t kernel_dim, uint32_t init_scale, uint64_t count) {
        Shapes shapes = sgconv_shapes(1, 1, 0);
        for (uint64_t i = 0; i < count; ++i)
            shapes.push_back({"c.kernel_list." + std::to_string(i), {1, 4, kernel_dim}});
        const nlohmann::json layer = {{"type", "sgconv"},         {"name", "c"},
                                      {"kernel_dim", kernel_dim}, {"l_max", l_max},
                                      {"init_scale", init_scale}, {"linear", true}};
        return lowered("features 4", nlohmann::json::array({layer}).dump(), weights_of(shapes));
    };
    CHECK(scales(16000, 32, 0, 10)); // ⌈log2(500)⌉ = 9
    CHECK(scales(2048, 1, 0, 12));
    CHECK(scales(600, 32, 1, 5));
    CHECK(scales(64, 64, 0, 1));
    CHECK(scales(33, 32, 0, 2));
    CHECK(scales(17, 32, 0, 1));       // ⌈log2(17/32)⌉ = 0
    CHECK_FALSE(scales(16, 32, 0, 1)); // −1: no scale at all
    CHECK_FALSE(scales(16000, 32, 0, 9));
}

} // namespace sgconv_test
