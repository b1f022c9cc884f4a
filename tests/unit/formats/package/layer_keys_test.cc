// Keys, types and attributes of layers that are refused, each with what was expected.
#include "tests/unit/formats/package/good_model.h"

namespace layer_keys_test {

using namespace longwave;
using namespace longwave::test;

TEST_CASE("package: unknown keys are errors with the nearest known one") {
    refused_at("/lables", json::array(),
               "lables: expected one of the keys format, version, name, inputs, layers, outputs, labels, "
               "decision, found an unknown key; did you "
               "mean \"labels\"?");
    refused_at("/layers/0/out_feature", 8,
               "layers[0].out_feature: expected one of the keys type, name, input, prefix, keys, "
               "out_features, bias, weights, blocks, found an unknown key; did you "
               "mean \"out_features\"?");
    refused_at("/layers/1/layers/0/kernle_dim", 8,
               "layers[1].layers[0].kernle_dim: expected one of the keys type, name, input, prefix, keys, "
               "kernel_dim, l_max, mode, channels, "
               "bidirectional, init_scale, num_scales, "
               "activation, postact, layer_norm, linear, resolution, found an unknown key; did you mean "
               "\"kernel_dim\"?");
    refused_at("/layers/3/prefix", "a",
               "layers[3].prefix: expected one of the keys type, name, input, found an unknown key");
    refused_at("/layers/1/norm/name", "n",
               "layers[1].norm.name: expected one of the keys type, prefix, keys, eps, found an unknown key");
    refused_at("/inputs/0/vocabulary", 1,
               "inputs[0].vocabulary: expected one of the keys name, kind, width, sample_rate, found an "
               "unknown key");
    refused_at("/outputs/0/form", 1,
               "outputs[0].form: expected one of the keys name, from, kind, sample_rate, lag, found an "
               "unknown key; did you mean \"from\"?");
    refused_at("/decision/min count", 1,
               "decision[\"min count\"]: expected one of the keys output, ignore, threshold, smoothing_ms, "
               "min_count, release, refractory_ms, found "
               "an unknown key; did you mean \"min_count\"?");
}

TEST_CASE("package: layer types must be known") {
    refused_at(
        "/layers/3/type", "sofmax",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found \"sofmax\"; did "
        "you mean \"softmax\"?");
    refused_at(
        "/layers/3/type", "S4D",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found \"S4D\"; use "
        "\"state_space\" with \"s4d\": true, or import the PyTorch module (docs/import.md)");
    refused_at(
        "/layers/3/type", "s5",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found \"s5\"; import "
        "the PyTorch module (docs/import.md): its kernel becomes a recurrence or the taps of a long "
        "convolution");
    refused_at(
        "/layers/3/type", "mamba",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found \"mamba\"; "
        "compile the folder that `save_pretrained` writes: docs/huggingface.md");
    refused_at(
        "/layers/3/type", "rwkv7",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found \"rwkv7\"; "
        "compile the folder that `save_pretrained` writes: docs/huggingface.md");
    refused_at(
        "/layers/3/type", "rwkv6",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found \"rwkv6\"; its "
        "recurrence depends on the input, which no layer computes; use another engine: docs/compare.md");
    refused_at("/layers/3/type", 3,
               "layers[3].type: expected a layer type that `longwave compile --layers` lists, found 3");
    refused_without(
        "/layers/3", "type",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found no such key");
    refused_at("/layers/1/norm/type", "linear",
               "layers[1].norm.type: expected a norm layer, found \"linear\"");
    refused_at(
        "/layers/1/norm/type", "layernorm",
        "layers[1].norm.type: expected a norm layer, found \"layernorm\"; did you mean \"layer_norm\"?");
    refused_at("/layers/1/norm", "batch_norm",
               "layers[1].norm: expected a norm layer without name, or null, found the text \"batch_norm\"");
    refused_at(
        "/layers/3", "softmax",
        "layers[3]: expected a layer (an object with \"type\" and \"name\"), found the text \"softmax\"\n"
        "outputs[1].from: expected the name of an input or of an earlier layer, found \"softmax\"");
}

TEST_CASE("package: attributes have kinds and ranges") {
    refused_at("/layers/0/out_features", "8",
               "layers[0].out_features: expected a whole number from 1 to 16777216, found the text \"8\"");
    refused_at("/layers/0/out_features", 8.0,
               "layers[0].out_features: expected a whole number from 1 to 16777216, found 8.0");
    refused_at("/layers/0/out_features", 0,
               "layers[0].out_features: expected a whole number from 1 to 16777216, found 0");
    refused_at("/layers/0/out_features", -1,
               "layers[0].out_features: expected a whole number from 1 to 16777216, found -1");
    refused_at("/layers/0/out_features", 16777217,
               "layers[0].out_features: expected a whole number from 1 to 16777216, found 16777217");
    refused_at("/layers/0/bias", 1, "layers[0].bias: expected true or false, found 1");
    refused_at("/layers/1/norm/eps", -1e-5,
               "layers[1].norm.eps: expected a number from 0 to 1, found -1e-05");
    refused_at("/layers/1/layers/0/postact", "gul",
               "layers[1].layers[0].postact: expected null or \"glu\" or \"gelu\" or \"relu\" or \"silu\" or "
               "\"sigmoid\" or \"tanh\" or \"identity\", "
               "found the text \"gul\"; did you mean \"glu\"?");
    refused_at("/layers/1/layers/0/activation", "softmax",
               "layers[1].layers[0].activation: expected \"gelu\" or \"relu\" or \"silu\" or \"sigmoid\" or "
               "\"tanh\" or \"identity\", "
               "found the text \"softmax\"");
    refused_at("/layers/1/layers/0/mode", "",
               "layers[1].layers[0].mode: expected a text that is not empty, found \"\"");
    refused_without("/layers/1/layers/0", "l_max",
                    "layers[1].layers[0].l_max: expected this key (sgconv needs it), found no such key");
    refused_at("/layers/3", json{{"type", "conv2d"}, {"name", "softmax"}, {"out_channels", 1}, {"kernel", 3}},
               "layers[3].kernel: expected a list [time, frequency], found 3");
    refused_at("/layers/3",
               json{{"type", "conv2d"}, {"name", "softmax"}, {"out_channels", 1}, {"kernel", {3, 0}}},
               "layers[3].kernel[1]: expected a whole number from 1 to 16777216, found 0");
}

TEST_CASE("package: branches are checked one by one") {
    auto branches = [](json list) {
        return json{{"type", "branches"}, {"name", "softmax"}, {"branches", std::move(list)}};
    };
    refused_at("/layers/3", branches(json::array()),
               "layers[3].branches: expected a list of 1 to 64 branches, found a list of 0");
    refused_at("/layers/3", branches({1}),
               "layers[3].branches[0]: expected an object with \"kind\", found 1");
    refused_at("/layers/3", branches({{{"kind", "conv2d"}}}),
               "layers[3].branches[0].kind: expected \"conv1d\" or \"identity\", found the text \"conv2d\"; "
               "did you mean \"conv1d\"?");
    refused_at("/layers/3", branches({{{"kind", "identity"}}, {{"kind", "conv1d"}}}),
               "layers[3].branches[1].kernel: expected this key (conv1d needs it), found no such key");
    refused_at(
        "/layers/3", branches({{{"kind", "identity"}, {"kernel", 3}}}),
        "layers[3].branches[0].kernel: expected one of the keys kind, batch_norm, eps, found an unknown key");
    json model = good_model();
    model["layers"][3] =
        branches({{{"kind", "conv1d"}, {"kernel", 3}}, {{"kind", "identity"}, {"batch_norm", true}}});
    auto package = package::parse(model.dump(), {});
    REQUIRE(package);
    CHECK(
        package->layers[3].attributes["branches"] ==
        json::parse(
            R"([{"kind": "conv1d", "kernel": 3, "dilation": 1, "bias": true, "batch_norm": false, "eps": 1e-5}, {"kind": "identity", "batch_norm": true, "eps": 1e-5}])"));
}

} // namespace layer_keys_test
