// A good model description becomes structs; its inputs, labels, decision and weights.
#include "tests/unit/formats/package/good_model.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>

namespace model_test {

using namespace longwave;
using namespace longwave::test;
using package::Tensor;

namespace {

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
