// What each layer becomes, as graph text.
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/ir/op.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <cmath>
#include <doctest/doctest.h>

namespace lowering_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

void becomes(const std::string &input, const std::string &layers, Weights weights,
             const std::string &expected) {
    auto graph = lowered(input, layers, std::move(weights));
    REQUIRE_MESSAGE(graph, graph.status().message());
    CHECK("\n" + ir::print(*graph) == expected);
    // What is printed reads back as the same graph: types agree with what the ops infer.
    auto again = ir::parse(ir::print(*graph));
    REQUIRE_MESSAGE(again, again.status().message());
    CHECK(ir::print(*again) == ir::print(*graph));
}

const ir::Numbers &constant(const ir::Graph &graph, const std::string &key) {
    for (const auto &c : graph.constants)
        if (c.key == key) return c.data;
    FAIL("no constant " << key);
    return graph.constants[0].data;
}

} // namespace

TEST_CASE("lower: log_mel becomes frames, spectrum, mel matrix, logarithm and normalisation") {
    becomes("audio 16000",
            R"([{"type": "log_mel", "name": "fe", "window": 4, "hop": 2, "n_fft": 8, "bands": 3}])",
            weights_of({{"fe.window", {4}}, {"fe.mel", {5, 3}}, {"fe.mean", {3}}, {"fe.scale", {3}}}),
            R"(
graph "tiny"
%0 = input "x" audio rate=16000 : f32[1] @1/1 causal
%1 = const "fe.window" : [4]
%2 = const "fe.scale" : [3]
%3 = frame(%0, %1) {hop=2, window=4} : f32[4] @1/2 causal   ; layer fe
%4 = power_spectrum(%3) {n_fft=8} : f32[5] @1/2 causal   ; layer fe
%5 = const "fe.mel.rows" : [3,5]
%6 = linear(%4, %5) {bias=0, weights="float32"} : f32[3] @1/2 causal   ; layer fe
%7 = log(%6) {offset=1e-05} : f32[3] @1/2 causal   ; layer fe
%8 = const "fe.mean.shift" : [3]
%9 = affine(%7, %2, %8) : f32[3] @1/2 causal   ; layer fe
output "y" %9
)");
}

TEST_CASE(
    "lower: conv2d keeps frequency and channel apart until flatten, and batch norms there count channels") {
    becomes("features 10",
            R"([{"type": "conv2d", "name": "a", "out_channels": 4, "kernel": [4, 5], "stride": [2, 2]},
             {"type": "batch_norm", "name": "bn"},
             {"type": "relu", "name": "r"},
             {"type": "conv2d", "name": "dw", "out_channels": 4, "kernel": [3, 3], "groups": 4, "bias": false},
             {"type": "flatten", "name": "f"},
             {"type": "linear", "name": "p", "out_features": 6, "bias": false},
             {"type": "batch_norm", "name": "n2"}])",
            weights_of({{"a.weight", {4, 1, 4, 5}},
                        {"a.bias", {4}},
                        {"bn.weight", {4}},
                        {"bn.bias", {4}},
                        {"bn.running_mean", {4}},
                        {"bn.running_var", {4}},
                        {"dw.weight", {4, 1, 3, 3}},
                        {"p.weight", {6, 20}},
                        {"n2.weight", {6}},
                        {"n2.bias", {6}},
                        {"n2.running_mean", {6}},
                        {"n2.running_var", {6}}}),
            R"(
graph "tiny"
%0 = input "x" features : f32[10] @1/1 causal
%1 = const "a.weight" : [4,1,4,5]
%2 = const "a.bias" : [4]
%3 = conv2d(%0, %1, %2) {bias=1, frequency=1, groups=1, stride_f=2, stride_t=2} : f32[5,4] @1/2 causal   ; layer a
%4 = const "bn.weight" : [4]
%5 = const "bn.bias" : [4]
%6 = const "bn.running_mean" : [4]
%7 = const "bn.running_var" : [4]
%8 = batch_norm(%3, %4, %5, %6, %7) {eps=1e-05} : f32[5,4] @1/2 causal   ; layer bn
%9 = relu(%8) : f32[5,4] @1/2 causal   ; layer r
%10 = const "dw.weight" : [4,1,3,3]
%11 = conv2d(%9, %10) {bias=0, frequency=1, groups=4, stride_f=1, stride_t=1} : f32[5,4] @1/2 causal   ; layer dw
%12 = const "p.weight" : [6,20]
%13 = linear(%11, %12) {bias=0} : f32[6] @1/2 causal   ; layer p
%14 = const "n2.weight" : [6]
%15 = const "n2.bias" : [6]
%16 = const "n2.running_mean" : [6]
%17 = const "n2.running_var" : [6]
%18 = batch_norm(%13, %14, %15, %16, %17) {eps=1e-05} : f32[6] @1/2 causal   ; layer n2
output "y" %18
)");
}

TEST_CASE("lower: a convolution after one that left a single frequency reads its channels, not frequencies") {
    becomes(
        "features 2",
        R"([{"type": "conv2d", "name": "a", "out_channels": 4, "kernel": [1, 1], "stride": [1, 2], "bias": false},
             {"type": "conv2d", "name": "b", "out_channels": 3, "kernel": [2, 1], "bias": false}])",
        weights_of({{"a.weight", {4, 1, 1, 1}}, {"b.weight", {3, 4, 2, 1}}}),
        R"(
graph "tiny"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "a.weight" : [4,1,1,1]
%2 = conv2d(%0, %1) {bias=0, frequency=1, groups=1, stride_f=2, stride_t=1} : f32[4] @1/1 causal   ; layer a
%3 = const "b.weight" : [3,4,2,1]
%4 = conv2d(%2, %3) {bias=0, frequency=0, groups=1, stride_f=1, stride_t=1} : f32[3] @1/1 causal   ; layer b
output "y" %4
)");
}

TEST_CASE("lower: conv1d is a convolution over one frequency") {
    becomes("features 6",
            R"([{"type": "conv1d", "name": "c", "out_channels": 6, "kernel": 3, "stride": 2, "groups": 6}])",
            weights_of({{"c.weight", {6, 1, 3}}, {"c.bias", {6}}}),
            R"(
graph "tiny"
%0 = input "x" features : f32[6] @1/1 causal
%1 = const "c.weight" : [6,1,3,1]
%2 = const "c.bias" : [6]
%3 = conv2d(%0, %1, %2) {bias=1, frequency=0, groups=6, stride_f=1, stride_t=2} : f32[6] @1/2 causal   ; layer c
output "y" %3
)");
}

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

TEST_CASE("lower: branches are summed in order, and a dilated kernel is spread") {
    becomes(
        "features 4",
        R"([{"type": "branches", "name": "b", "branches": [{"kind": "conv1d", "kernel": 3, "dilation": 2, "batch_norm": true}, {"kind": "identity"}, {"kind": "conv1d", "kernel": 5, "bias": false}, {"kind": "identity", "batch_norm": true}]}])",
        weights_of({{"b.0.conv.weight", {4, 1, 3}},
                    {"b.0.conv.bias", {4}},
                    {"b.0.bn.weight", {4}},
                    {"b.0.bn.bias", {4}},
                    {"b.0.bn.running_mean", {4}},
                    {"b.0.bn.running_var", {4}},
                    {"b.2.conv.weight", {4, 1, 5}},
                    {"b.3.bn.weight", {4}},
                    {"b.3.bn.bias", {4}},
                    {"b.3.bn.running_mean", {4}},
                    {"b.3.bn.running_var", {4}}}),
        R"(
graph "tiny"
%0 = input "x" features : f32[4] @1/1 causal
%1 = const "b.0.conv.weight.dilated" : [4,1,5,1]
%2 = const "b.0.conv.bias" : [4]
%3 = conv2d(%0, %1, %2) {bias=1, frequency=0, groups=4, stride_f=1, stride_t=1} : f32[4] @1/1 causal   ; layer b
%4 = const "b.0.bn.weight" : [4]
%5 = const "b.0.bn.bias" : [4]
%6 = const "b.0.bn.running_mean" : [4]
%7 = const "b.0.bn.running_var" : [4]
%8 = batch_norm(%3, %4, %5, %6, %7) {eps=1e-05} : f32[4] @1/1 causal   ; layer b
%9 = add(%8, %0) : f32[4] @1/1 causal   ; layer b
%10 = const "b.2.conv.weight" : [4,1,5,1]
%11 = conv2d(%0, %10) {bias=0, frequency=0, groups=4, stride_f=1, stride_t=1} : f32[4] @1/1 causal   ; layer b
%12 = add(%9, %11) : f32[4] @1/1 causal   ; layer b
%13 = const "b.3.bn.weight" : [4]
%14 = const "b.3.bn.bias" : [4]
%15 = const "b.3.bn.running_mean" : [4]
%16 = const "b.3.bn.running_var" : [4]
%17 = batch_norm(%0, %13, %14, %15, %16) {eps=1e-05} : f32[4] @1/1 causal   ; layer b
%18 = add(%12, %17) : f32[4] @1/1 causal   ; layer b
output "y" %18
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
