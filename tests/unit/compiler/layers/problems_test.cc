// Everything that is wrong with a model is said in one go, each line with its place, what was
// expected and what was found.
#include "tests/unit/compiler/layers/tiny_model.h"
#include <algorithm>
#include <ctime>
#include <doctest/doctest.h>

namespace problems_test {

using namespace longwave;
using namespace longwave::tests;

#define OTHER_OPTIONS                                                                                        \
    "; set the options that the weights were trained with, or name another tensor with \"keys\""

namespace {

std::string failure(const std::string &input, const std::string &layers, Weights weights = {}) {
    auto graph = lowered(input, layers, std::move(weights));
    if (graph) return "";
    CHECK(graph.status().fault() == Fault::input);
    return graph.status().message();
}

} // namespace

TEST_CASE("lower: one run lists every missing weight, wrong shape and unsupported option") {
    const std::string message = failure("features 4", R"([
        {"type": "linear", "name": "encoder", "out_features": 8},
        {"type": "residual", "name": "block", "norm": {"type": "batch_norm"}, "layers": [
            {"type": "sgconv", "name": "conv", "kernel_dim": 2, "l_max": 8, "mode": "cat_hankel"},
            {"type": "linear", "name": "mix", "out_features": 6}]},
        {"type": "linear", "name": "head", "out_features": 2}])",
                                        weights_of({{"encoder.weight", {4, 8}},
                                                    {"encoder.biass", {8}},
                                                    {"block.norm.weight", {8}},
                                                    {"block.norm.bias", {8}},
                                                    {"block.norm.running_mean", {7}},
                                                    {"block.norm.running_var", {8}},
                                                    {"mix.weight", {6, 8}},
                                                    {"mix.bias", {6}}}));
    CHECK(
        message ==
        "layers[0] (encoder): tensor \"encoder.weight\": expected shape [8, 4], found [4, 8]; transpose it\n"
        "layers[0] (encoder): tensor \"encoder.bias\": expected shape [8], found no such tensor; did you "
        "mean \"encoder.biass\"?\n"
        "layers[1].norm (block/norm): tensor \"block.norm.running_mean\": expected shape [8], found "
        "[7]" OTHER_OPTIONS "\n"
        "layers[1].layers[0].mode (block/conv): expected a published parameterisation, found \"hankel\"; it "
        "is not supported: no "
        "published configuration uses it\n"
        "layers[1].layers (block): expected rows of [8] at rate 1/1, as the residual was given, found rows "
        "of [6] at rate 1/1; what is "
        "added must have the shape of what comes in\n"
        "layers[2] (head): tensor \"head.weight\": expected shape [2, 8], found no such tensor; no tensor "
        "starts with \"head.\": set "
        "\"prefix\", or \"keys\" for one parameter\n"
        "layers[2] (head): tensor \"head.bias\": expected shape [2], found no such tensor; no tensor starts "
        "with \"head.\": set "
        "\"prefix\", or \"keys\" for one parameter");
}

TEST_CASE("lower: every tensor of an sgconv layer is checked") {
    Shapes shapes = {{"c.D", {4}},
                     {"c.kernel_norm", {1, 3, 1}},
                     {"c.kernel_norm_initialized", {2}},
                     {"c.multiplier", {4, 1}},
                     {"c.output_linear.weight", {4, 4}}};
    for (int i = 0; i < 3; ++i)
        shapes.push_back({"c.kernel_list." + std::to_string(i), {1, 4, i == 1 ? 3u : 2u}});
    CHECK(failure("features 4",
                  R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 8, "postact": "glu"}])",
                  weights_of(shapes)) ==
          "layers[0] (c): tensor \"c.kernel_list.1\": expected shape [1, 4, 2], found [1, 4, 3]" OTHER_OPTIONS
          "\n"
          "layers[0] (c): tensor \"c.multiplier\": expected shape [1, 4, 1], found [4, 1]" OTHER_OPTIONS "\n"
          "layers[0] (c): tensor \"c.kernel_norm_initialized\": expected shape [] (a scalar), found "
          "[2]" OTHER_OPTIONS "\n"
          "layers[0] (c): tensor \"c.kernel_norm\": expected shape [1, 4, 1], found [1, 3, 1]" OTHER_OPTIONS
          "\n"
          "layers[0] (c): tensor \"c.D\": expected shape [1, 4], found [4]" OTHER_OPTIONS "\n"
          "layers[0] (c): tensor \"c.output_linear.0.weight\": expected shape [8, 4], found no such tensor; "
          "did you mean \"c.output_linear.weight\"?\n"
          "layers[0] (c): tensor \"c.output_linear.0.bias\": expected shape [8], found no such "
          "tensor" OTHER_OPTIONS);
}

TEST_CASE("lower: the number of scales must be that of the weights") {
    Shapes shapes = {{"c.D", {1, 4}},
                     {"c.kernel_norm", {1, 4, 1}},
                     {"c.kernel_norm_initialized", {}},
                     {"c.multiplier", {1, 4, 1}}};
    for (int i = 0; i < 5; ++i) shapes.push_back({"c.kernel_list." + std::to_string(i), {1, 4, 2}});
    CHECK(failure("features 4",
                  R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 8, "linear": true}])",
                  weights_of(shapes)) ==
          "layers[0].num_scales (c): expected 3 scales (1 + ceil(log2(l_max / kernel_dim)) - init_scale), "
          "found kernel_list.0 to kernel_list.4 in "
          "the weights; set \"num_scales\": 5 if the weights are right");
    CHECK(
        failure(
            "features 4",
            R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 8, "num_scales": 4, "linear": true}])",
            weights_of(shapes)) == "layers[0].num_scales (c): expected 4 scales, found kernel_list.0 to "
                                   "kernel_list.4 in the weights; set "
                                   "\"num_scales\": 5 if the weights are right");
    CHECK(lowered(
        "features 4",
        R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 8, "num_scales": 5, "linear": true}])",
        weights_of(shapes)));
}

TEST_CASE("lower: modes and resolutions that mean nothing are refused") {
    auto with = [](const char *options) {
        Shapes shapes = {{"c.D", {1, 4}},
                         {"c.kernel_norm", {1, 4, 1}},
                         {"c.kernel_norm_initialized", {}},
                         {"c.multiplier", {1, 4, 1}}};
        for (int i = 0; i < 3; ++i) shapes.push_back({"c.kernel_list." + std::to_string(i), {1, 4, 2}});
        return failure(
            "features 4",
            std::string(R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 8, "linear": true, )") +
                options + "}]",
            weights_of(shapes));
    };
    CHECK(with(R"("mode": "cat_nearst")") == "layers[0].mode (c): expected words of the official modes, "
                                             "joined by _, found \"nearst\"; did you mean \"nearest\"?");
    CHECK(with(R"("mode": "randn")") ==
          "layers[0].mode (c): expected cat_… or sum_…, found \"randn\"; say how the scales are joined");
    CHECK(with(R"("mode": "cat_sum")") ==
          "layers[0].mode (c): expected cat_… or sum_…, found \"cat_sum\"; say how the scales are joined");
    CHECK(with(R"("mode": "cat_randn", "resolution": 4)") ==
          "layers[0].resolution (c): expected a mode with trunc or expand, found \"cat_randn\"; "
          "without one of them the kernel has one resolution: leave this key out");
    CHECK(with(R"("init_scale": 23, "num_scales": 3)")
              .find("layers[0].num_scales (c): expected 1 or more scales and at most 268435456 taps, found 3 "
                    "scales of kernel_dim 2") == 0);
    CHECK(with(R"("mode": "cat_randn_learnable")") ==
          "layers[0] (c): tensor \"c.decay\": expected shape [4], found no such tensor" OTHER_OPTIONS);
    CHECK(with(R"("mode": "sum_randn_nearest")").empty());
}

TEST_CASE("lower: a decay without a learnable mode is refused, because it would be ignored") {
    const char *layers = R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 2, "linear": true}])";
    CHECK(failure("features 1", layers,
                  weights_of({{"c.D", {1, 1}},
                              {"c.kernel_norm", {1, 1, 1}},
                              {"c.kernel_norm_initialized", {}},
                              {"c.multiplier", {1, 1, 1}},
                              {"c.decay", {1}},
                              {"c.kernel_list.0", {1, 1, 2}}})) ==
          "layers[0].mode (c): expected a mode with learnable, because the weights have \"c.decay\", found "
          "\"cat_randn\"; for example "
          "\"cat_randn_learnable\"");
}

TEST_CASE("lower: kernel norms must be usable") {
    Shapes shapes = {{"c.D", {1, 1}},
                     {"c.kernel_norm", {1, 1, 1}},
                     {"c.kernel_norm_initialized", {}},
                     {"c.multiplier", {1, 1, 1}},
                     {"c.kernel_list.0", {1, 1, 2}}};
    const char *layers = R"([{"type": "sgconv", "name": "c", "kernel_dim": 2, "l_max": 2, "linear": true}])";
    Weights weights = weights_of(shapes);
    CHECK(failure("features 1", layers, weights).empty());
    set(weights["c.kernel_norm"], 0, 0);
    CHECK(failure("features 1", layers, weights) ==
          "layers[0] (c): expected norms above zero in \"c.kernel_norm\", found 0.000000 at index 0; set "
          "kernel_norm_initialized to 0 to have it computed");
    set(weights["c.kernel_norm_initialized"], 0, 0);
    CHECK(failure("features 1", layers, weights).empty());
    weights.erase("c.kernel_norm");
    CHECK(failure("features 1", layers, weights).empty());
    weights["c.kernel_list.0"].data = {0, 0};
    CHECK(failure("features 1", layers, weights).find("expected a kernel that is not zero everywhere") !=
          std::string::npos);
}

TEST_CASE("lower: layers must be able to read what comes before") {
    CHECK(failure("tokens 10", R"([{"type": "glu", "name": "g"}])") ==
          "layers[0] (g): expected rows of features, found token ids; an embedding turns ids into rows");
    CHECK(failure("tokens 10", R"([{"type": "relu", "name": "r"}])")
              .find("layers[0]: layer r: relu: expected float32 rows, found token ids") == 0);
    CHECK(failure("features 5", R"([{"type": "glu", "name": "g"}])") ==
          "layers[0] (g): expected an even number of features, found 5; the layer before it must give values "
          "and gates");
    CHECK(failure("features 5", R"([{"type": "embedding", "name": "e", "vocabulary": 3, "width": 2}])",
                  weights_of({{"e.weight", {3, 2}}})) ==
          "layers[0] (e): expected token ids, found rows of features; read an input of kind \"tokens\"");
    CHECK(failure("tokens 5", R"([{"type": "embedding", "name": "e", "vocabulary": 3, "width": 2}])",
                  weights_of({{"e.weight", {3, 2}}})) ==
          "layers[0].vocabulary (e): expected at least the 5 ids of input \"x\", found 3");
    CHECK(failure("features 2", R"([{"type": "mean", "name": "a"}, {"type": "last", "name": "b"}])") ==
          "layers[1] (b): expected a sequence, found one row for the whole sequence; it was pooled before");
    CHECK(failure("features 2",
                  R"([{"type": "mean", "name": "a"}, {"type": "mean_window", "name": "b", "frames": 2}])")
              .find("layers[1] (b): expected a sequence") == 0);
    CHECK(
        failure(
            "features 2",
            R"([{"type": "mean", "name": "a"}, {"type": "pair_features", "name": "b", "inputs": ["a", "x"]}])") ==
        "layers[1].inputs (b): expected two pooled sequences, found a sequence; put mean, sum, first or last "
        "before it");
    CHECK(failure("features 2",
                  R"([{"type": "log_mel", "name": "f", "window": 4, "hop": 2, "n_fft": 2, "bands": 1}])") ==
          "layers[0].n_fft (f): expected at least the window of 4 samples, found 2");
}

TEST_CASE("lower: convolutions check groups, channels and the form of their input") {
    const Weights image = weights_of({{"a.weight", {4, 1, 1, 1}}});
    const std::string first =
        R"([{"type": "conv2d", "name": "a", "out_channels": 4, "kernel": [1, 1], "bias": false}, )";
    CHECK(failure("features 3",
                  first +
                      R"({"type": "conv2d", "name": "b", "out_channels": 4, "kernel": [1, 1], "groups": 2}])",
                  image) == "layers[1].groups (b): expected 1 or the 4 channels of the input, found 2");
    CHECK(failure("features 3",
                  first +
                      R"({"type": "conv2d", "name": "b", "out_channels": 6, "kernel": [1, 1], "groups": 4}])",
                  image) == "layers[1].out_channels (b): expected a multiple of the 4 groups, found 6");
    CHECK(
        failure(
            "features 3",
            first +
                R"({"type": "flatten", "name": "f"}, {"type": "conv2d", "name": "b", "out_channels": 4, "kernel": [1, 1]}])",
            image) == "layers[2] (b): expected features or an image, found a flattened row of shape [3, 4]; "
                      "read the layer before flatten");
    CHECK(
        failure("features 3", first + R"({"type": "conv1d", "name": "b", "out_channels": 4, "kernel": 1}])",
                image) ==
        "layers[1] (b): expected rows of features, found rows of shape [3, 4]; put a linear layer before it");
    CHECK(failure("features 3", first + R"({"type": "layer_norm", "name": "n"}])", image) ==
          "layers[1] (n): expected features, found an image of shape [3, 4]; put flatten before it, or use "
          "batch_norm");
    CHECK(failure("features 3",
                  R"([{"type": "conv2d", "name": "b", "out_channels": 4, "kernel": [1, 1], "groups": 3}])") ==
          "layers[0].groups (b): expected 1 (the input has one channel), found 3");
    CHECK(failure("features 3",
                  R"([{"type": "conv1d", "name": "b", "out_channels": 4, "kernel": 1, "groups": 2}])") ==
          "layers[0].groups (b): expected 1 or the 3 features of the input, found 2");
    CHECK(failure("features 1",
                  R"([{"type": "conv2d", "name": "b", "out_channels": 1, "kernel": [1, 2], "bias": false}])",
                  weights_of({{"b.weight", {1, 1, 1, 2}}})) ==
          "layers[0]: layer b: conv2d: a kernel of 2 frequencies does not fit 1 padded ones");
    CHECK(
        failure(
            "features 2",
            R"([{"type": "branches", "name": "b", "branches": [{"kind": "conv1d", "kernel": 1000, "dilation": 10000}]}])") ==
        "layers[0].branches (b): expected a kernel of at most 1048576 taps with its dilation, found 9990001 "
        "in branch 0");
}

TEST_CASE("lower: batch norms after flatten count features, and variances must be positive") {
    const std::string layers =
        R"([{"type": "conv2d", "name": "a", "out_channels": 4, "kernel": [1, 1], "bias": false}, {"type": "flatten", "name": "f"}, {"type": "batch_norm", "name": "n"}])";
    Weights weights = weights_of({{"a.weight", {4, 1, 1, 1}},
                                  {"n.weight", {12}},
                                  {"n.bias", {12}},
                                  {"n.running_mean", {12}},
                                  {"n.running_var", {12}}});
    CHECK(failure("features 3", layers, weights).empty());
    set(weights["n.running_var"], 7, -1);
    CHECK(failure("features 3", layers, weights) ==
          "layers[2] (n): expected a variance above zero in \"n.running_var\", found -1.000000 at index 7");
}

TEST_CASE("lower: labels fit an output") {
    auto with = [](const nlohmann::json &decision) {
        nlohmann::json model = {{"format", "longwave-model"},
                                {"version", 1},
                                {"name", "m"},
                                {"labels", {"a", "b", "c"}},
                                {"inputs", {{{"name", "x"}, {"kind", "features"}, {"width", 4}}}},
                                {"layers",
                                 {{{"type", "linear"}, {"name", "l"}, {"out_features", 2}, {"bias", false}},
                                  {{"type", "linear"}, {"name", "m"}, {"out_features", 3}, {"bias", false}}}},
                                {"outputs", {{{"name", "two"}, {"from", "l"}}}}};
        if (!decision.is_null()) {
            model["decision"] = decision;
            model["outputs"].push_back({{"name", "three"}, {"from", "m"}});
        }
        auto package = package::parse(model.dump(), weights_of({{"l.weight", {2, 4}}, {"m.weight", {3, 2}}}));
        REQUIRE_MESSAGE(package, package.status().message());
        auto graph = compiler::lower(*package);
        return graph ? std::string() : graph.status().message();
    };
    CHECK(with(nullptr) == "labels: expected as many labels as an output is wide (\"two\" is 2), found 3");
    CHECK(with({{"output", "three"}}).empty());
    CHECK(with({{"output", "two"}}) ==
          "decision.output: expected an output as wide as the 3 labels, found \"two\" of width 2");
}

TEST_CASE("lower: missing weights among thousands of unused ones are reported in little time") {
    nlohmann::json layers = nlohmann::json::array();
    Shapes shapes;
    for (int i = 0; i < 4000; ++i) {
        layers.push_back({{"type", "linear"}, {"name", "layer" + std::to_string(i)}, {"out_features", 4}});
        shapes.push_back({"layre" + std::to_string(i) + ".weight", {4, 4}});
        shapes.push_back({"layre" + std::to_string(i) + ".bias", {4}});
    }
    const std::clock_t start = std::clock();
    const std::string message = failure("features 4", layers.dump(), weights_of(shapes));
    CHECK(double(std::clock() - start) / CLOCKS_PER_SEC < 2); // comparing all with all takes minutes
    CHECK(message.find("did you mean \"layre0.bias\"?") != message.npos);
    CHECK(message.ends_with(" more problems"));
}

} // namespace problems_test
