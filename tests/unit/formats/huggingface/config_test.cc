#include "formats/huggingface/architectures.h"
#include "formats/huggingface/config.h"
#include "tests/unit/formats/huggingface/small_models.h"
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <set>

namespace config_test {

using namespace longwave;
using huggingface::read_config;
using nlohmann::json;

namespace {

std::string failure(const json &config) {
    const auto read = read_config(config.dump(), "config.json");
    if (read) return "";
    CHECK(read.status().fault() == Fault::input);
    return read.status().message();
}

void refused_with(const char *key, json value, const std::string &message) {
    json config = tests::small_config("mamba2");
    config[key] = std::move(value);
    CAPTURE(key);
    CHECK(failure(config) == message);
}

} // namespace

TEST_CASE("huggingface config: every architecture reads its own small configuration") {
    for (const huggingface::Architecture &known : huggingface::architectures()) {
        CAPTURE(known.model_type);
        const auto config = read_config(tests::small_config(known.model_type).dump(), "config.json");
        REQUIRE_MESSAGE(config, config.status().message());
        CHECK(config->architecture->model_type == known.model_type);
        CHECK(config->size("hidden_size * expand") == 12);
        if (known.model_type != "mamba2") CHECK(config->size("intermediate_size") == 12);
        CHECK(config->size("conv_kernel") == 4);
        CHECK(config->ops.at("hidden_act") == "silu");
        CHECK(config->numbers.at("layer_norm_epsilon") == 1e-5);
    }
}

TEST_CASE("huggingface config: sizes are sums of products, and what does not fit says so") {
    huggingface::Config config;
    config.sizes = {{"a", 3}, {"b", 4}, {"large", uint64_t{1} << 40}, {"off", 0}};
    CHECK(config.size("a") == 3);
    CHECK(config.size("2 * a + b*b + 1") == 23);
    CHECK(config.size("large * large") == UINT64_MAX);
    CHECK(config.size("a * unknown") == UINT64_MAX);
    CHECK(config.holds(""));
    CHECK(config.holds("a"));
    CHECK(!config.holds("off"));
    CHECK(config.holds("!off"));
}

TEST_CASE("huggingface config: keys that are left out mean what transformers takes") {
    json config = tests::small_config("mamba");
    config.erase("time_step_rank");
    auto read = read_config(config.dump(), "config.json");
    REQUIRE(read);
    CHECK(read->size("time_step_rank") == 1); // 6 features in units of 16, rounded up
    CHECK(read->holds("tie_word_embeddings"));
    config["intermediate_size"] = 10; // counts more than `expand`
    read = read_config(config.dump(), "config.json");
    REQUIRE(read);
    CHECK(read->size("intermediate_size") == 10);
    config["time_step_rank"] = "auto";
    config["hidden_size"] = 33;
    read = read_config(config.dump(), "config.json");
    REQUIRE(read);
    CHECK(read->size("time_step_rank") == 3);
    read = read_config(tests::small_config("mamba2").dump(), "config.json");
    REQUIRE(read);
    CHECK(!read->holds("tie_word_embeddings"));
    CHECK(!read->holds("time_step_limit")); // from 0 to infinity: no limit
}

TEST_CASE("huggingface config: Python's infinity is read, and only outside of texts") {
    json config = tests::small_config("mamba2");
    config["_name_or_path"] = "Infinity \\\" Infinity";
    config.erase("time_step_limit");
    std::string text = config.dump();
    text.back() = ',';
    auto read = read_config(text + "\"time_step_limit\": [0.5, Infinity]}", "config.json");
    REQUIRE_MESSAGE(read, read.status().message());
    CHECK(read->holds("time_step_limit"));
    CHECK(read->numbers.at("time_step_limit.low") == 0.5);
    CHECK(std::isfinite(read->numbers.at("time_step_limit.high")));
    CHECK(!read_config(text + "\"time_step_limit\": [NaN, 1]}", "config.json"));
    CHECK(!read_config(text + "\"time_step_limit\": [-Infinity, 1]}", "config.json"));
    CHECK(!read_config(text + "\"time_step_limit\": [2, 1]}", "config.json"));
    CHECK(!read_config(text + "\"time_step_limit\": [-2, -1]}", "config.json"));
}

TEST_CASE("huggingface config: what is not known is refused with what is") {
    refused_with(
        "model_type", "llama",
        "model_type: expected one of \"falcon_mamba\", \"mamba\", \"mamba2\", found the text \"llama\"");
    refused_with("model_type", 2,
                 "model_type: expected one of \"falcon_mamba\", \"mamba\", \"mamba2\", found 2");
    refused_with(
        "architectures", json::array({"Mamba2Model"}),
        "architectures: expected [\"Mamba2ForCausalLM\"] for this model_type, found [\"Mamba2Model\"]");
    refused_with("rotary", true,
                 "rotary: expected a key of mamba2 that is known (docs/huggingface.md), found \"rotary\": "
                 "true; remove the key if it does not change what the model computes");
    refused_with("quantization_config", json::object(),
                 "quantization_config: expected a key of mamba2 that is known (docs/huggingface.md), found "
                 "\"quantization_config\": an empty object; save the model with float weights");
    refused_with("hidden_act", "mish",
                 "hidden_act: expected one of \"gelu\", \"relu\", \"silu\", \"swish\", found the text "
                 "\"mish\"");
    refused_with("use_bias", 1, "use_bias: expected true or false, found 1");
    refused_with("num_heads", 6,
                 "hidden_size * expand: expected the same as num_heads * head_dim, 18, found 12");
    refused_with("n_groups", 3, "num_heads: expected a multiple of n_groups, 3, found 4");
}

TEST_CASE("huggingface config: sizes have limits") {
    for (const auto &[key, value] : std::vector<std::pair<std::string, json>>{{"hidden_size", 0},
                                                                              {"hidden_size", 1e9},
                                                                              {"num_hidden_layers", 513},
                                                                              {"vocab_size", 1.5},
                                                                              {"state_size", -1},
                                                                              {"expand", "two"},
                                                                              {"layer_norm_epsilon", -1}}) {
        json config = tests::small_config("mamba2");
        config[key] = value;
        CAPTURE(key);
        CHECK(failure(config).starts_with(key + ": expected"));
    }
    json config = tests::small_config("mamba");
    config.erase("hidden_size");
    CHECK(failure(config).find("hidden_size: expected this key, found no such key") != std::string::npos);
}

TEST_CASE("huggingface config: tables name only keys, tensors and rows that they have") {
    for (const huggingface::Architecture &of : huggingface::architectures()) {
        CAPTURE(of.model_type);
        const auto config = read_config(tests::small_config(of.model_type).dump(), "config.json");
        REQUIRE(config);
        for (const std::string &name : of.ignored)
            for (const huggingface::Key &key : of.keys) CHECK(key.name != name);
        for (const auto *rows : {&of.before, &of.block, &of.after}) {
            std::set<std::string> made = {"x"};
            for (const huggingface::Row &row : *rows) {
                CAPTURE(row.name);
                for (const huggingface::Operand &read : row.reads) {
                    using Kind = huggingface::Operand::Kind;
                    if (read.kind == Kind::value) CHECK(made.count(read.name) == 1);
                    for (const std::string &sum : {read.first, read.count, read.each, read.times})
                        CHECK(config->size(sum) != UINT64_MAX);
                }
                CHECK(made.insert(row.name).second);
            }
        }
    }
}

} // namespace config_test
