// The JSON of model.json: its syntax, version and limits, and how many problems are reported.
#include "tests/unit/formats/package/good_model.h"
#include <algorithm>
#include <cmath>

namespace document_test {

using namespace longwave;
using namespace longwave::test;
using package::Tensor;

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
    refused_at(
        "/version", "1",
        "version: expected 1 or 2, found the text \"1\"; write \"version\": 1 for layers, 2 for a graph");
    refused_without(
        "", "version",
        "version: expected 1 or 2, found no such key; write \"version\": 1 for layers, 2 for a graph");
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

} // namespace document_test
