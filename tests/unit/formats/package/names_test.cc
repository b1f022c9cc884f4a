// Names in model.json: which are allowed, which must differ, and what they refer to.
#include "tests/unit/formats/package/good_model.h"

namespace names_test {

using namespace longwave;
using namespace longwave::test;

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

} // namespace names_test
