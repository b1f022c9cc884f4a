#include "formats/package/package.h"
#include <cmath>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>

namespace model_test {

using namespace longwave;
using nlohmann::json;
using package::Tensor;

namespace {

using Weights = std::map<std::string, Tensor>;

// A model with everything in it that is right; each test makes one thing wrong.
json good_model() {
    return json::parse(R"({
      "format": "longwave-model", "version": 1, "name": "tiny",
      "inputs": [{"name": "x", "kind": "features", "width": 4}],
      "layers": [
        {"type": "linear", "name": "encoder", "out_features": 8},
        {"type": "residual", "name": "block", "norm": {"type": "batch_norm"}, "layers": [
          {"type": "sgconv", "name": "conv", "kernel_dim": 4, "l_max": 16, "postact": "glu"},
          {"type": "gelu", "name": "act"}]},
        {"type": "linear", "name": "head", "out_features": 2, "prefix": "decoder", "keys": {"bias": "decoder.b"}},
        {"type": "softmax", "name": "softmax"}],
      "outputs": [{"name": "logits", "from": "head"}, {"name": "p", "from": "softmax"}, {"name": "hidden", "from": "block/conv"}],
      "labels": ["yes", "no"],
      "decision": {"output": "p", "ignore": ["no"], "threshold": {"default": 0.8, "yes": 0.75}, "smoothing_ms": 200, "min_count": 2, "release": 0.4, "refractory_ms": 500}
    })");
}

std::string failure(const std::string &text, Weights weights = {}) {
    auto package = package::parse(text, std::move(weights));
    if (package) return "";
    CHECK(package.status().fault() == Fault::input);
    return package.status().message();
}

void refused(const std::string &text, const std::string &message) { CHECK(failure(text) == message); }

// `value` at a JSON pointer of the good model.
void refused_at(const char *pointer, json value, const std::string &message) {
    json model = good_model();
    model[json::json_pointer(pointer)] = std::move(value);
    CAPTURE(pointer);
    refused(model.dump(), message);
}

void refused_without(const char *parent, const char *key, const std::string &message) {
    json model = good_model();
    model[json::json_pointer(parent)].erase(key);
    refused(model.dump(), message);
}

struct Folder {
    std::string path;
    Folder() {
        char name[] = "/tmp/longwave-test-XXXXXX";
        path = mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    void write(const std::string &name, const std::string &bytes) const {
        std::ofstream(path + "/" + name, std::ios::binary) << bytes;
    }
};

const std::string empty_safetensors = std::string("\2\0\0\0\0\0\0\0{}", 10);

} // namespace

TEST_CASE("package: a good model is read into structs") {
    auto package = package::parse(good_model().dump(), {});
    REQUIRE_MESSAGE(package, package.status().message());
    CHECK(package->name == "tiny");
    REQUIRE(package->inputs.size() == 1);
    CHECK(package->inputs[0].kind == package::Input::Kind::features);
    CHECK(package->inputs[0].width == 4);
    REQUIRE(package->layers.size() == 4);
    const auto &block = package->layers[1];
    CHECK(block.path == "layers[1]");
    REQUIRE(block.norm);
    CHECK(block.norm->type == "batch_norm");
    CHECK(block.norm->prefix == "block.norm");
    CHECK(block.norm->address == "block/norm");
    CHECK(block.norm->attributes == json{{"eps", 1e-5}});
    REQUIRE(block.layers.size() == 2);
    CHECK(block.layers[0].path == "layers[1].layers[0]");
    CHECK(block.layers[0].address == "block/conv");
    CHECK(block.layers[0].prefix == "conv");
    CHECK(block.layers[0].attributes ==
          json::parse(
              R"({"kernel_dim": 4, "l_max": 16, "mode": "cat_randn", "channels": 1, "bidirectional": false,
        "init_scale": 0, "activation": "gelu", "postact": "glu", "layer_norm": false, "linear": false})"));
    json bare = good_model();
    bare["layers"][2]["prefix"] = "";
    const auto unnamed = package::parse(bare.dump(), {});
    REQUIRE_MESSAGE(unnamed, unnamed.status().message());
    CHECK(unnamed->layers[2].key("weight") == "weight");
    const auto &head = package->layers[2];
    CHECK(head.key("weight") == "decoder.weight");
    CHECK(head.key("bias") == "decoder.b");
    CHECK(head.attributes == json{{"out_features", 2}, {"bias", true}, {"blocks", 0}, {"weights", nullptr}});
    REQUIRE(package->outputs.size() == 3);
    CHECK(package->outputs[2].from == "block/conv");
    CHECK(package->labels == std::vector<std::string>{"yes", "no"});
    REQUIRE(package->has_decision);
    CHECK(package->decision.default_threshold == 0.8f);
    CHECK(package->decision.thresholds.at("yes") == 0.75f);
    CHECK(package->decision.min_count == 2);
    CHECK(package->decision.release == 0.4f);
}

TEST_CASE("package: decision settings that are not given have the documented defaults") {
    json model = good_model();
    model["decision"] = {{"output", "p"}};
    auto package = package::parse(model.dump(), {});
    REQUIRE(package);
    CHECK(package->decision.smoothing_ms == 300);
    CHECK(package->decision.min_count == 3);
    CHECK(package->decision.release == 0.5f);
    CHECK(package->decision.refractory_ms == 1000);
    model.erase("decision");
    model.erase("labels");
    package = package::parse(model.dump(), {});
    REQUIRE(package);
    CHECK_FALSE(package->has_decision);
    CHECK(package->labels.empty());
}

TEST_CASE("package: names are looked up from the inside of a residual outwards") {
    json model = good_model();
    model["layers"][1]["layers"].push_back(
        {{"type", "residual"},
         {"name", "deep"},
         {"norm", nullptr},
         {"layers", json::array({{{"type", "relu"}, {"name", "act"}},
                                 {{"type", "relu"}, {"name", "a"}, {"input", "act"}},
                                 {{"type", "relu"}, {"name", "b"}, {"input", "conv"}},
                                 {{"type", "relu"}, {"name", "c"}, {"input", "encoder"}},
                                 {{"type", "relu"}, {"name", "d"}, {"input", "x"}},
                                 {{"type", "relu"}, {"name", "e"}, {"input", "block/act"}}})}});
    auto package = package::parse(model.dump(), {});
    REQUIRE_MESSAGE(package, package.status().message());
    const auto &deep = package->layers[1].layers[2];
    CHECK_FALSE(deep.norm);
    CHECK(deep.layers[1].inputs == std::vector<std::string>{"block/deep/act"});
    CHECK(deep.layers[2].inputs == std::vector<std::string>{"block/conv"});
    CHECK(deep.layers[3].inputs == std::vector<std::string>{"encoder"});
    CHECK(deep.layers[4].inputs == std::vector<std::string>{"x"});
    CHECK(deep.layers[5].inputs == std::vector<std::string>{"block/act"});
}

TEST_CASE("package: text that is no JSON is refused with its place") {
    CHECK(failure("").starts_with(
        "model.json: line 1, column 1: syntax error while parsing value - unexpected end of input"));
    CHECK(failure("{\n  \"a\": }").starts_with("model.json: line 2, column 8: syntax error"));
    CHECK(failure("{} {}").find("expected end of input") != std::string::npos);
    CHECK(failure("{\"a\": 1e999}").find("number overflow") != std::string::npos);
    CHECK(failure("{\"a\": \"\xff\"}").find("ill-formed UTF-8") != std::string::npos);
    CHECK(failure("{\"a\": NaN}").find("invalid literal") != std::string::npos);
    CHECK(failure("// c\n{}").find("invalid literal") != std::string::npos);
    refused("[]", "model.json: expected an object, found a list of 0");
    refused("{}", "format: expected \"longwave-model\", found no such key; this is not a model description");
}

TEST_CASE("package: a document nested deeper than the limit is refused at once") {
    const std::string bomb = std::string(1'000'000, '[');
    CHECK(failure(bomb).ends_with("nested deeper than 64 levels; flatten the description"));
    CHECK(failure("{\"layers\": " + bomb).starts_with("model.json: layers[0][0]"));
}

TEST_CASE("package: keys given twice are refused, each with its path") {
    refused(
        R"({"format": "longwave-model", "format": "x", "layers": [{"type": "relu"}, {"type": "relu", "keys": {"a": 1, "a": {"b": [1, {"c": 2}]}}, "type": 1}]})",
        "model.json: the key \"format\" is given twice; keep one of them\n"
        "layers[1].keys: the key \"a\" is given twice; keep one of them\n"
        "layers[1]: the key \"type\" is given twice; keep one of them");
}

TEST_CASE("package: versions and formats of others are refused") {
    refused_at(
        "/format", "onnx",
        "format: expected \"longwave-model\", found the text \"onnx\"; this is not a model description");
    refused_at("/version", 3, "version: expected 1 or 2, found 3; a newer Longwave wrote it; use that one");
    refused_at("/version", "1", "version: expected 1 or 2, found the text \"1\"; write \"version\": 1 for layers, 2 for a graph");
    refused_without("", "version", "version: expected 1 or 2, found no such key; write \"version\": 1 for layers, 2 for a graph");
}

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
    refused_at("/inputs/0/sample_rate", 1,
               "inputs[0].sample_rate: expected one of the keys name, kind, width, found an unknown key");
    refused_at(
        "/outputs/0/form", 1,
        "outputs[0].form: expected one of the keys name, from, found an unknown key; did you mean \"from\"?");
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
        "the PyTorch module (docs/import.md): its kernel becomes a recurrence or the taps of a long convolution");
    refused_at(
        "/layers/3/type", "mamba",
        "layers[3].type: expected a layer type that `longwave compile --layers` lists, found \"mamba\"; its "
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

TEST_CASE("package: a character that steers a terminal or turns the direction of text is in no name") {
    const struct {
        const char *character, *shown;
    } controls[] = {{"\t", "\\x09"},       {"\x1b", "\\x1b"},     {"\x7f", "\\x7f"},
                    {"\u0085", "\\u0085"}, {"\u009b", "\\u009b"}, {"\u061c", "\\u061c"},
                    {"\u200e", "\\u200e"}, {"\u200f", "\\u200f"}, {"\u2028", "\\u2028"},
                    {"\u202a", "\\u202a"}, {"\u202e", "\\u202e"}, {"\u2066", "\\u2066"},
                    {"\u2069", "\\u2069"}};
    const struct {
        const char *pointer, *path;
    } names[] = {{"/name", "name"},
                 {"/inputs/0/name", "inputs[0].name"},
                 {"/layers/2/name", "layers[2].name"},
                 {"/layers/1/layers/1/name", "layers[1].layers[1].name"},
                 {"/layers/2/prefix", "layers[2].prefix"},
                 {"/layers/2/keys/bias", "layers[2].keys.bias"},
                 {"/outputs/2/name", "outputs[2].name"},
                 {"/labels/0", "labels[0]"}};
    for (const auto &[character, shown] : controls)
        for (const auto &[pointer, path] : names) {
            json model = good_model();
            model[json::json_pointer(pointer)] = std::string("a") + character + "b";
            const std::string found = failure(model.dump());
            const std::string line =
                std::string(path) + ": expected a text without control characters, found \"a" + shown + "b\"";
            CHECK_MESSAGE(found.find(line) != std::string::npos, found);
        }
}

TEST_CASE("package: what the compiled model repeats is a name there too, before any kernel is compiled") {
    for (const char *pointer : {"/name", "/outputs/2/name", "/labels/0"})
        for (const char *name : {"a/b", "a\\b"}) {
            json model = good_model();
            model[json::json_pointer(pointer)] = name;
            CHECK(failure(model.dump()).find("expected a name without '/' and '\\'") != std::string::npos);
        }
}

TEST_CASE("package: the name of a model is no place in a file system") {
    for (const char *name : {".", "..", "-", "~"})
        refused_at("/name", name,
                   std::string("name: expected a name that a file can have, found \"") + name + "\"");
}

TEST_CASE("package: names are texts that are used once") {
    refused_at("/layers/0/name", "", "layers[0].name: expected a text that is not empty, found \"\"");
    refused_at("/layers/0/name", "a/b",
               "layers[0].name: expected a name without '/' and '\\', found \"a/b\"");
    refused_at("/layers/0/name", "a\nb",
               "layers[0].name: expected a text without control characters, found \"a\\x0ab\"");
    refused_at("/layers/0/name", std::string(300, 'a'),
               "layers[0].name: expected at most 256 bytes, found 300 bytes");
    refused_without("/layers/0", "name",
                    "layers[0].name: expected a name of its own, found no such key; reports, references and "
                    "weight keys use it");
    refused_at("/layers/0/name", "x",
               "layers[0].name: expected a name that is used once, found \"x\", which inputs[0] has too; "
               "rename one of them");
    refused_at("/layers/2/name", "softmax",
               "layers[3].name: expected a name that is used once, found \"softmax\", which layers[2] has "
               "too; rename one of them\n"
               "outputs[0].from: expected the name of an input or of an earlier layer, found \"head\"");
    refused_at("/layers/1/layers/1/name", "norm",
               "layers[1].layers[1].name: expected a name that is used once, found \"block/norm\", which "
               "layers[1].norm has too; rename one of them");
    refused_at("/outputs/1/name", "logits",
               "outputs[1].name: expected a name that is used once, found \"logits\" again\n"
               "decision.output: expected the name of an output, found the text \"p\"");
    refused_at("/name", 7, "name: expected a text, found 7");
}

TEST_CASE("package: references go to inputs and earlier layers") {
    refused_at("/layers/0/input", "head",
               "layers[0].input: expected the name of an input or of an earlier layer, found \"head\"");
    refused_at("/layers/2/input", "enocder",
               "layers[2].input: expected the name of an input or of an earlier layer, found \"enocder\"; "
               "did you mean \"encoder\"?");
    refused_at("/layers/2/input", 1,
               "layers[2].input: expected the name of an input or of an earlier layer, found 1");
    refused_at(
        "/layers/1/layers/0/input", "block",
        "layers[1].layers[0].input: expected the name of an input or of an earlier layer, found \"block\"");
    refused_at("/layers/3", json{{"type", "pair_features"}, {"name", "softmax"}},
               "layers[3].inputs: expected a list of two names of layers or inputs, found no such key");
    refused_at("/layers/3", json{{"type", "pair_features"}, {"name", "softmax"}, {"inputs", {"x"}}},
               "layers[3].inputs: expected a list of two names of layers or inputs, found a list of 1");
    refused_at("/layers/3", json{{"type", "relu"}, {"name", "softmax"}, {"inputs", {"x"}}},
               "layers[3].inputs: expected one of the keys type, name, input, found an unknown key; did you "
               "mean \"input\"?");
    refused_at("/outputs/0/from", "heat",
               "outputs[0].from: expected the name of an input or of an earlier layer, found \"heat\"; did "
               "you mean \"head\"?");
}

TEST_CASE("package: keys name parameters of the layer") {
    refused_at("/layers/2/keys", json{{"weigth", "w"}},
               "layers[2].keys.weigth: expected a parameter that this linear reads, found another; did you "
               "mean \"weight\"?");
    refused_at("/layers/2/keys", json{{"weight", 1}}, "layers[2].keys.weight: expected a text, found 1");
    refused_at("/layers/2/keys", "w",
               "layers[2].keys: expected an object from parameter to tensor key, found the text \"w\"");
    refused_at("/layers/2/prefix", 1, "layers[2].prefix: expected a text, found 1");
}

TEST_CASE("package: inputs, layers and outputs must be there") {
    refused_at("/inputs", json::array(), "inputs: expected a list of 1 to 16, found a list of 0");
    refused_at("/inputs/0", 1,
               "inputs[0]: expected an input (an object with \"name\" and \"kind\"), found 1");
    refused_at("/inputs/0/kind", "feature",
               "inputs[0].kind: expected \"audio\", \"features\" or \"tokens\", found the text \"feature\"; "
               "did you mean \"features\"?");
    refused_without("/inputs/0", "width",
                    "inputs[0].width: expected this key (features needs it), found no such key");
    refused_at("/inputs/0", json{{"name", "x"}, {"kind", "audio"}, {"sample_rate", 0}},
               "inputs[0].sample_rate: expected a whole number from 1 to 1000000, found 0");
    refused_at("/inputs/0", json{{"name", "x"}, {"kind", "tokens"}},
               "inputs[0].vocabulary: expected this key (tokens needs it), found no such key");
    refused_at("/layers/1/layers", json::array(),
               "layers[1].layers: expected a list of layers, found a list of 0\n"
               "outputs[2].from: expected the name of an input or of an earlier layer, found \"block/conv\"; "
               "did you mean \"block/norm\"?");
    refused_at("/outputs", "head",
               "outputs: expected a list of 1 to 64, found the text \"head\"\ndecision.output: expected the "
               "name of an output, found the text \"p\"");
}

TEST_CASE("package: labels and decision settings fit together") {
    refused_at("/labels/1", "yes",
               "labels[1]: expected labels that differ, found \"yes\" again\ndecision.ignore[0]: expected "
               "one of the labels, found \"no\"");
    refused_at(
        "/labels/1", 1,
        "labels[1]: expected a text, found 1\ndecision.ignore[0]: expected one of the labels, found \"no\"");
    refused_at("/decision", 1, "decision: expected an object, found 1");
    refused_at("/decision/output", "q",
               "decision.output: expected the name of an output, found the text \"q\"");
    refused_without("/decision", "output",
                    "decision.output: expected the name of an output, found no such key");
    refused_at("/decision/threshold/yse", 0.5,
               "decision.threshold.yse: expected one of the labels, found \"yse\"; did you mean \"yes\"?");
    refused_at("/decision/threshold/yes", 1.5,
               "decision.threshold.yes: expected a number from 0 to 1, found 1.5");
    refused_at("/decision/threshold", 0.8,
               "decision.threshold: expected an object from label (or \"default\") to number, found 0.8");
    refused_at("/decision/ignore", "no", "decision.ignore: expected a list of labels, found the text \"no\"");
    refused_at("/decision/min_count", 0,
               "decision.min_count: expected a whole number from 1 to 100000, found 0");
    refused_at("/decision/release", "x",
               "decision.release: expected a number from 0 to 1, found the text \"x\"");
}

TEST_CASE("package: residuals nested too deep are refused") {
    json inner = {{"type", "relu"}, {"name", "r"}};
    for (int i = 0; i < 9; ++i)
        inner = {{"type", "residual"}, {"name", "r"}, {"norm", nullptr}, {"layers", {inner}}};
    json model = good_model();
    model["layers"][3] = inner;
    model["layers"][3]["name"] = "softmax";
    CHECK(failure(model.dump()).find("residuals nested at most 8 deep") != std::string::npos);
}

TEST_CASE("package: all problems are reported at once, and no more than can be read") {
    json model = good_model();
    model["version"] = 1;
    model["layers"][0]["out_features"] = 0;
    model["layers"][2]["typo"] = 1;
    model["outputs"][0]["from"] = "nobody";
    model["decision"]["release"] = 2;
    const std::string message = failure(model.dump(), {{"w", Tensor{{2}, {1, NAN}}}});
    CHECK(std::count(message.begin(), message.end(), '\n') == 4);
    for (const char *place : {"layers[0].out_features: ", "layers[2].typo: ", "outputs[0].from: ",
                              "decision.release: ", "tensor \"w\" index 1: "})
        CHECK_MESSAGE(message.find(place) != std::string::npos, place);

    json many = good_model();
    for (int i = 0; i < 1000; ++i) many["layers"][0]["zzz" + std::to_string(i)] = 1;
    const std::string cut = failure(many.dump());
    CHECK(std::count(cut.begin(), cut.end(), '\n') == 200);
    CHECK(cut.ends_with("\nand 800 more problems"));
}

TEST_CASE("package: control characters in a syntax error are escaped") {
    const std::string message = failure("\x7f{}");
    CHECK(message.find("\\x7f") != message.npos);
    CHECK(message.find('\x7f') == message.npos);
}

TEST_CASE("package: a description of more values than the limit is refused with that limit") {
    std::string values = "{\"format\": [";
    for (int i = 0; i < 600'000; ++i) values += "[0],{},";
    CHECK(failure(values + "0]}") == "model.json: more than 262144 values");
}

TEST_CASE("package: weights must be finite") {
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(failure(good_model().dump(), {{"encoder.weight", Tensor{{4}, {0, 1, infinity, -infinity}}},
                                        {"head.bias", Tensor{{1}, {NAN}}}}) ==
          "tensor \"encoder.weight\" index 2: expected a finite number, found +infinity (and 1 more in this "
          "tensor); the training diverged or the "
          "file is damaged\n"
          "tensor \"head.bias\" index 0: expected a finite number, found NaN; the training diverged or the "
          "file is damaged");
}

TEST_CASE("package: weights that no layer reads are listed, training counters are not") {
    Weights weights;
    for (const char *key :
         {"encoder.weight", "encoder.bias", "encoder.weigth", "conv.kernel_list.0",
          "conv.output_linear.0.weight", "block.norm.running_var", "block.norm.num_batches_tracked",
          "decoder.bias", "decoder.b", "decoder.weight", "auxiliary.weight"})
        weights[key] = Tensor{{1}, {0}};
    auto package = package::parse(good_model().dump(), weights);
    REQUIRE(package);
    CHECK(package->unused == std::vector<std::string>{"auxiliary.weight", "decoder.bias", "encoder.weigth"});
    json model = good_model();
    model["layers"][0]["bias"] = false; // a bias that the layer does not add
    package = package::parse(model.dump(), weights);
    REQUIRE(package);
    CHECK(package->unused ==
          std::vector<std::string>{"auxiliary.weight", "decoder.bias", "encoder.bias", "encoder.weigth"});
}

TEST_CASE("package: a folder is read, and what is missing is named with the system's words") {
    Folder folder;
    CHECK(package::read(folder.path + "/none").status().message() ==
          folder.path + "/none: cannot be read: No such file or directory; expected a folder with model.json "
                        "and weights.safetensors");
    CHECK(package::read(folder.path).status().message() ==
          folder.path + "/model.json: cannot be read: No such file or directory\n" + folder.path +
              "/weights.safetensors: cannot be read: No such file or directory");
    folder.write("model.json", "{\"format\": \"longwave-model\", }");
    folder.write("weights.safetensors", "12345678");
    const std::string message = package::read(folder.path).status().message();
    CHECK(message.find(folder.path + "/weights.safetensors: expected a header") != std::string::npos);
    CHECK(message.find(folder.path + "/model.json: line 1, column ") != std::string::npos);
    CHECK(package::read(folder.path + "/model.json")
              .status()
              .message()
              .ends_with("expected a folder with model.json and weights.safetensors, found a file"));
    folder.write("model.pt2", "");
    CHECK(package::read(folder.path + "/model.pt2")
              .status()
              .message()
              .ends_with("found a file; import the PyTorch module that it was made from: docs/import.md"));

    folder.write("model.json", good_model().dump());
    folder.write("weights.safetensors", empty_safetensors);
    auto package = package::read(folder.path);
    REQUIRE_MESSAGE(package, package.status().message());
    CHECK(package->name == "tiny");

    if (geteuid() != 0) { // root may read anything
        std::filesystem::permissions(folder.path + "/model.json", std::filesystem::perms::none);
        CHECK(package::read(folder.path).status().message() ==
              folder.path + "/model.json: cannot be read: Permission denied");
    }
    std::filesystem::remove(folder.path + "/model.json");
    std::filesystem::create_directory(folder.path + "/model.json");
    CHECK(package::read(folder.path).status().message() ==
          folder.path + "/model.json: cannot be read: Is a directory");
}

} // namespace model_test
