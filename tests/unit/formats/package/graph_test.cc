#include "formats/package/package.h"
#include <doctest/doctest.h>

namespace graph_test {

using namespace longwave;
using nlohmann::json;

namespace {

// A graph in which everything is right; each test makes one thing wrong.
json good_graph() {
    return json::parse(R"({
      "format": "longwave-model", "version": 2, "name": "tiny", "length": 48,
      "inputs": [{"name": "x", "kind": "features", "width": 4}],
      "graph": [
        {"name": "encoder/linear", "op": "linear", "inputs": ["x", {"tensor": "encoder.weight"}], "attributes": {"bias": 0}},
        {"name": "block.0/norm/layer_norm", "op": "layer_norm",
         "inputs": ["encoder/linear", {"tensor": "w"}, {"tensor": "b"}], "attributes": {"eps": 1e-5}},
        {"name": "pool", "op": "mean", "inputs": ["block.0/norm/layer_norm"], "attributes": {"mode": "mean"}}],
      "outputs": [{"name": "y", "from": "pool"}, {"name": "same", "from": "x"}]
    })");
}

std::string failure(const json &model) {
    auto package = package::parse(model.dump(), {});
    if (package) return "";
    CHECK(package.status().fault() == Fault::input);
    return package.status().message();
}

void refused_at(const char *pointer, json value, const std::string &message) {
    json model = good_graph();
    model[json::json_pointer(pointer)] = std::move(value);
    CAPTURE(pointer);
    CHECK(failure(model) == message);
}

void refused_without(const char *parent, const char *key, const std::string &message) {
    json model = good_graph();
    model[json::json_pointer(parent)].erase(key);
    CHECK(failure(model) == message);
}

} // namespace

TEST_CASE("package graph: nodes, inputs, tensors, attributes and the length are read") {
    auto package = package::parse(good_graph().dump(),
                                  {{"w", {{1}, std::vector<float>{1}}}, {"z", {{1}, std::vector<float>{1}}}});
    REQUIRE_MESSAGE(package, package.status().message());
    CHECK(package->layers.empty());
    CHECK(package->length == 48);
    REQUIRE(package->graph.size() == 3);
    const package::Node &norm = package->graph[1];
    CHECK(norm.path == "graph[1]");
    CHECK(norm.name == "block.0/norm/layer_norm");
    CHECK(norm.layer() == "block.0/norm");
    CHECK(package->graph[2].layer() == "pool");
    CHECK(norm.op == "layer_norm");
    REQUIRE(norm.inputs.size() == 3);
    CHECK(norm.inputs[0].name == "encoder/linear");
    CHECK(!norm.inputs[0].tensor);
    CHECK(norm.inputs[2].name == "b");
    CHECK(norm.inputs[2].tensor);
    CHECK(norm.attributes == json({{"eps", 1e-5}}));
    CHECK(package->unused == std::vector<std::string>{"z"});
}

TEST_CASE("package graph: version 1 has layers, version 2 a graph, none has both") {
    json model = good_graph();
    model["version"] = 1;
    CHECK(
        failure(model).find("graph: expected one of the keys format, version, name, inputs, layers, outputs, "
                            "labels, decision, found an unknown key") != std::string::npos);
    refused_at("/version", 3, "version: expected 1 or 2, found 3; a newer Longwave wrote it; use that one");
    refused_at("/layers", json::array(),
               "layers: expected either layers or a graph, found both in a model of version 2; remove "
               "\"layers\", or write \"version\": 1 without \"graph\"");
    refused_at("/lenght", 3,
               "lenght: expected one of the keys format, version, name, inputs, layers, outputs, labels, "
               "decision, graph, length, found an unknown key; did you mean \"length\"?");
}

TEST_CASE("package graph: each malformed part is refused with its place") {
    const std::string list = "graph: expected a list of 1 to 4096 nodes, found ";
    json model = good_graph();
    model["outputs"] = {{{"name", "y"}, {"from", "x"}}};
    for (const auto &[value, found] :
         std::vector<std::pair<json, std::string>>{{json::array(), "a list of 0"},
                                                   {json(3), "3"},
                                                   {json(std::vector<int>(4097)), "a list of 4097"}}) {
        model["graph"] = value;
        CHECK(failure(model) == list + found);
    }
    model.erase("graph");
    CHECK(failure(model) == list + "null");

    refused_at("/length", 0, "length: expected a whole number from 1 to 16777216, found 0");
    refused_at("/length", 1.5, "length: expected a whole number from 1 to 16777216, found 1.5");
    refused_at("/graph/2/op", 3, "graph[2].op: expected a text, found 3");
    refused_at("/graph/2/input", "x",
               "graph[2].input: expected one of the keys name, op, inputs, attributes, found an unknown key; "
               "did you mean \"inputs\"?");
    refused_at("/graph/2/inputs", json::array(),
               "graph[2].inputs: expected a list of 1 to 256 inputs, found a list of 0");
    refused_at("/graph/2/inputs/0", 7, "graph[2].inputs[0]: expected a name or {\"tensor\": KEY}, found 7");
    refused_at("/graph/2/inputs/0", "encoder/linaer",
               "graph[2].inputs[0]: expected the name of an input or of an earlier node, found "
               "\"encoder/linaer\"; did you mean \"encoder/linear\"?");
    refused_at("/graph/0/inputs/0", "pool",
               "graph[0].inputs[0]: expected the name of an input or of an earlier node, found \"pool\"");
    refused_at("/graph/2/inputs/0", json({{"tensor", "w"}, {"key", "w"}}),
               "graph[2].inputs[0].key: expected one of the keys tensor, found an unknown key");
    refused_at("/graph/2/inputs/0", json::object(),
               "graph[2].inputs[0].tensor: expected the key of a tensor, found no such key");
    refused_at("/graph/2/attributes", 3,
               "graph[2].attributes: expected an object of at most 64 attributes, found 3");
    refused_at("/graph/2/attributes/mode", true,
               "graph[2].attributes.mode: expected a number or a text, found true; write 0 or 1");
    refused_at("/graph/2/attributes/mode", nullptr,
               "graph[2].attributes.mode: expected a number or a text, found null");
    refused_at("/graph/0/attributes/bias", uint64_t{1} << 63,
               "graph[0].attributes.bias: expected a number or a text, found 9223372036854775808");
    refused_at("/outputs/0/from", "w",
               "outputs[0].from: expected the name of an input or of an earlier node, found \"w\"");
    refused_without("/graph/2", "op", "graph[2].op: expected the name of an op, found no such key");
    refused_without("/graph/2", "inputs",
                    "graph[2].inputs: expected a list of 1 to 256 inputs, found no such key");
    json named = good_graph();
    named["graph"][1]["name"] = "encoder/linear";
    named["graph"][2]["inputs"][0] = "encoder/linear";
    CHECK(failure(named) ==
          "graph[1].name: expected a name that is used once, found \"encoder/linear\", which "
          "graph[0] has too; rename one of them");
}

TEST_CASE("package graph: all problems are reported at once") {
    json model = good_graph();
    model["length"] = -1;
    model["graph"][0]["inputs"][0] = "nothing";
    model["graph"][1] = 5;
    model["graph"][2]["extra"] = 1;
    const std::string message = failure(model);
    for (const char *place :
         {"length: ", "graph[0].inputs[0]: ", "graph[1]: ", "graph[2].extra: ", "graph[2].inputs[0]: "}) {
        CAPTURE(place);
        CHECK(message.find(place) != std::string::npos);
    }
}

TEST_CASE("package graph: a node with a type is a layer, which names its input") {
    json model = good_graph();
    model["graph"][1] = {{"type", "gelu"}, {"name", "act"}, {"input", "encoder/linear"}};
    model["graph"][2]["inputs"][0] = "act";
    const auto package = package::parse(model.dump(), {});
    REQUIRE_MESSAGE(package, package.status().message());
    REQUIRE(package->layers.size() == 1);
    CHECK(package->layers[0].type == "gelu");
    CHECK(package->layers[0].path == "graph[1]");
    CHECK(package->layers[0].inputs == std::vector<std::string>{"encoder/linear"});
    CHECK(package->graph[1].name == "act");
    CHECK(package->graph[1].op.empty());

    json alone = model;
    alone["graph"][1].erase("input");
    CHECK(failure(alone) ==
          "graph[1].input: expected the name of an input or of an earlier node, found no such key");
    model["graph"][1]["type"] = "gleu";
    CHECK(failure(model).starts_with(
        "graph[1].type: expected a layer type that `longwave compile --layers` lists, found \"gleu\""));
}

} // namespace graph_test
