#include "compiler/ir/verify.h"
#include "compiler/layers/lower.h"
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/build.h"
#include "tests/unit/formats/huggingface/small_models.h"
#include <cmath>
#include <doctest/doctest.h>

namespace build_test {

using namespace longwave;
using nlohmann::json;

namespace {

huggingface::Config config_of(const json &text) {
    auto config = huggingface::read_config(text.dump(), "config.json");
    REQUIRE_MESSAGE(config, config.status().message());
    return *std::move(config);
}

std::string failure(const json &config, std::map<std::string, package::Tensor> tensors) {
    const auto package = huggingface::build(config_of(config), std::move(tensors));
    if (package) return "";
    CHECK(package.status().fault() == Fault::input);
    return package.status().message();
}

const package::Node &node(const package::Package &package, const std::string &name) {
    for (const package::Node &one : package.graph)
        if (one.name == name) return one;
    FAIL("no node " << name);
    return package.graph[0];
}

} // namespace

TEST_CASE("huggingface build: every architecture becomes a graph, whose tensors are all read") {
    for (const huggingface::Architecture &known : huggingface::architectures()) {
        CAPTURE(known.model_type);
        const huggingface::Config config = config_of(tests::small_config(known.model_type));
        const auto package = huggingface::build(config, tests::tensors_for(config));
        REQUIRE_MESSAGE(package, package.status().message());
        CHECK(package->name == known.model_type);
        REQUIRE(package->inputs.size() == 1);
        CHECK(package->inputs[0].vocabulary == 11);
        REQUIRE(package->outputs.size() == 1);
        CHECK(package->outputs[0].name == "logits");
        CHECK(package->unused.empty());
        const auto graph = compiler::lower(*package);
        REQUIRE_MESSAGE(graph, graph.status().message());
        CHECK(ir::verify(*graph));
        CHECK(graph->type(graph->outputs[0].value).width() == 11);
        CHECK(graph->type(graph->outputs[0].value).causal);
    }
}

TEST_CASE("huggingface build: constants are made from tensors") {
    const huggingface::Config config = config_of(tests::small_config("mamba2"));
    auto tensors = tests::tensors_for(config);
    tensors["backbone.layers.1.mixer.A_log"].data = {0.f, 1.f, -1.f, 2.f};
    tensors["backbone.layers.1.mixer.D"].data = {1.f, 2.f, 3.f, 4.f};
    const auto package = huggingface::build(config, std::move(tensors));
    REQUIRE(package);
    const auto &weights = package->weights;
    CHECK(!weights.count("backbone.layers.1.mixer.A_log"));
    const FloatArray &factors = weights.at("backbone.layers.1.mixer.A_log.minus_exp").data;
    REQUIRE(factors.size() == 4);
    CHECK(factors[0] == -1.f);
    CHECK(factors[3] == static_cast<float>(-std::exp(2.0)));
    const FloatArray &skip = weights.at("backbone.layers.1.mixer.D.each3").data;
    REQUIRE(skip.size() == 12); // three features a head
    CHECK(skip[2] == 1.f);
    CHECK(skip[3] == 2.f);
    const auto &dt = node(*package, "backbone.layers.1.mixer/dt_of_values");
    REQUIRE(dt.inputs.size() == 2);
    const FloatArray &places = weights.at(dt.inputs[1].name).data;
    CHECK(std::vector<float>(places.begin(), places.end()) ==
          std::vector<float>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
    CHECK(weights.at("backbone.layers.0.mixer.conv1d.weight").shape == std::vector<uint64_t>{24, 1, 4, 1});
    // No limit of steps: what would read the limited ones reads the steps.
    CHECK(node(*package, "backbone.layers.0.mixer/exponent").inputs[0].name ==
          "backbone.layers.0.mixer/softplus");
}

TEST_CASE("huggingface build: later blocks read a row of the first one") {
    json text = tests::small_config("rwkv7");
    text["num_hidden_layers"] = 3;
    text["value_dim"] = 12;
    const huggingface::Config config = config_of(text);
    const auto package = huggingface::build(config, tests::tensors_for(config));
    REQUIRE_MESSAGE(package, package.status().message());
    for (const char *block : {"1", "2"})
        CHECK(node(*package, std::string("model.layers.") + block + ".attn/to_first").inputs[0].name ==
              "model.layers.0.attn/v_proj");
}

TEST_CASE("huggingface build: a tied head reads the table, and a copy of it must be equal") {
    json text = tests::small_config("mamba");
    auto tensors = tests::tensors_for(config_of(text));
    CHECK(!tensors.count("lm_head.weight"));
    auto package = huggingface::build(config_of(text), tensors);
    REQUIRE(package);
    CHECK(node(*package, "lm_head").inputs[1].name == "backbone.embeddings.weight");
    tensors["lm_head.weight"] = tensors["backbone.embeddings.weight"];
    CHECK(failure(text, tensors).empty());
    std::vector<float> other(66, 1.f);
    tensors["lm_head.weight"].data = FloatArray(std::move(other));
    CHECK(failure(text, tensors) ==
          "tensor \"lm_head.weight\": expected the numbers of \"backbone.embeddings.weight\", found others; "
          "set \"tie_word_embeddings\" to false if the model has two matrices");
    text["tie_word_embeddings"] = false;
    package = huggingface::build(config_of(text), tensors);
    REQUIRE(package);
    CHECK(node(*package, "lm_head").inputs[1].name == "lm_head.weight");
}

TEST_CASE("huggingface build: tensors that are missing, too many, of other shapes or not finite") {
    const json text = tests::small_config("mamba2");
    const auto good = tests::tensors_for(config_of(text));
    auto tensors = good;
    tensors.erase("backbone.norm_f.weight");
    CHECK(failure(text, tensors) ==
          "tensor \"backbone.norm_f.weight\": expected shape [6], found no such tensor");
    tensors = good;
    tensors["backbone.layers.2.norm.weight"] = tensors["backbone.layers.1.norm.weight"];
    CHECK(failure(text, tensors) == "tensor \"backbone.layers.2.norm.weight\": expected only tensors that a "
                                    "mamba2 of this config.json has, found one that nothing reads");
    tensors = good;
    tensors["backbone.layers.0.mixer.conv1d.weight"].shape = {24, 4, 1};
    CHECK(failure(text, tensors) ==
          "tensor \"backbone.layers.0.mixer.conv1d.weight\": expected shape [24, 1, 4], found [24, 4, 1]");
    tensors = good;
    tensors["backbone.layers.0.mixer.D"].data = {1.f, INFINITY, 1.f, 1.f};
    CHECK(failure(text, tensors).find("found +infinity") != std::string::npos);
    // The name of older files.
    tensors = good;
    auto table = tensors.extract("backbone.embeddings.weight");
    table.key() = "backbone.embedding.weight";
    tensors.insert(std::move(table));
    CHECK(failure(text, tensors).empty());
}

TEST_CASE("huggingface build: angles of rotations, and heads whose features rotate in part") {
    json text = tests::small_config("qwen3_next");
    text["partial_rotary_factor"] = 0.5; // four of eight features
    const huggingface::Config config = config_of(text);
    const auto package = huggingface::build(config, tests::tensors_for(config));
    REQUIRE_MESSAGE(package, package.status().message());
    const std::string at = "model.layers.1.self_attn/";
    const auto list = [&](const std::string &name) {
        const FloatArray &data = package->weights.at(node(*package, at + name).inputs[1].name).data;
        return std::vector<float>(data.begin(), data.end());
    };
    CHECK(list("rotated_keys") == std::vector<float>{1.f, 1.f / 100.f, 0.f, 0.f});
    // The halves of what rests lie behind those of what rotates, in each of two heads.
    CHECK(list("rotated_keys_halves") ==
          std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15});
    // Each of two heads of keys serves two of queries.
    CHECK(node(*package, at + "attention").attributes["heads"] == 4);
    CHECK(node(*package, at + "attention").attributes["key_heads"] == 2);
    CHECK(node(*package, at + "attention").attributes["window"] == 0);
}

TEST_CASE("huggingface build: a tensor in parts, and tensors of other parts of a model") {
    const json text = tests::small_config("olmo_hybrid");
    const auto good = tests::tensors_for(config_of(text));
    const std::string at = "model.layers.0.linear_attn.", whole = at + "conv1d.weight";
    const package::Tensor taps = good.at(whole);
    REQUIRE(taps.shape == std::vector<uint64_t>{20, 1, 4});
    auto tensors = good;
    tensors.erase(whole);
    size_t row = 0;
    for (const auto &[name, rows] : {std::pair{"q", 7}, std::pair{"k", 7}, std::pair{"v", 6}}) {
        const auto from = taps.data.begin() + static_cast<ptrdiff_t>(4 * row);
        tensors[at + name + "_conv1d.weight"] = {{static_cast<uint64_t>(rows), 1, 4},
                                                 FloatArray(std::vector<float>(from, from + 4 * rows))};
        row += static_cast<size_t>(rows);
    }
    const auto package = huggingface::build(config_of(text), tensors);
    REQUIRE_MESSAGE(package, package.status().message());
    CHECK(package->weights.at(whole).data == taps.data);
    tensors.erase(at + "k_conv1d.weight");
    CHECK(failure(text, tensors).find("found no such tensor") != std::string::npos);

    tensors = good;
    tensors["mtp.norm.weight"] = {{1}, {1.f}};
    CHECK(!failure(text, tensors).empty());
    const auto notes = huggingface::skip_unread(config_of(text), tensors);
    REQUIRE(notes.size() == 1);
    CHECK(notes[0] == "left out 1 tensor of a part that guesses further tokens, \"mtp.*\"");
    CHECK(failure(text, tensors).empty());
}

} // namespace build_test
