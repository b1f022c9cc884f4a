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
        CHECK(config->size(known.vocabulary) == 11);
        // Blocks of every kind that is read.
        std::set<size_t> kinds(config->kinds.begin(), config->kinds.end());
        for (size_t i = 0; i < known.blocks.size(); ++i)
            CHECK(kinds.count(i) == (known.blocks[i].refused.empty() ? 1 : 0));
    }
    const auto mamba = read_config(tests::small_config("mamba").dump(), "config.json");
    REQUIRE(mamba);
    CHECK(mamba->size("hidden_size * expand") == 12);
    CHECK(mamba->size("intermediate_size") == 12);
    CHECK(mamba->size("conv_kernel") == 4);
    CHECK(mamba->ops.at("hidden_act") == "silu");
    CHECK(mamba->numbers.at("layer_norm_epsilon") == 1e-5);
    CHECK(mamba->attentions() == 0);
}

TEST_CASE("huggingface config: blocks of several kinds") {
    const auto kinds = [](const json &config) {
        const auto read = read_config(config.dump(), "config.json");
        REQUIRE_MESSAGE(read, read.status().message());
        std::string names;
        for (size_t i = 0; i < read->kinds.size(); ++i) names += read->block(i).name + " ";
        return names;
    };
    json config = tests::small_config("qwen3_next");
    CHECK(kinds(config) == "delta attention ");
    config["full_attention_interval"] = 1; // counts less than the list
    CHECK(kinds(config) == "delta attention ");
    config["layer_types"] = nullptr;
    CHECK(kinds(config) == "attention attention ");
    config.erase("full_attention_interval"); // 4
    config["num_hidden_layers"] = 5;
    CHECK(kinds(config) == "delta delta delta attention delta ");
    config = tests::small_config("lfm2");
    config.erase("layer_types");
    CHECK(failure(config) == "layer_types or full_attn_idxs: expected this key, found no such key");
    config["full_attn_idxs"] = {1};
    CHECK(kinds(config) == "conv attention ");
    config["full_attn_idxs"] = {2};
    CHECK(failure(config) == "full_attn_idxs[0]: expected a whole number from 0 to 1, found 2");
    config["layer_types"] = {"conv", "sliding_attention"};
    CHECK(failure(config) == "layer_types[1]: expected one of \"conv\", \"full_attention\", found the text "
                             "\"sliding_attention\"");
    config["layer_types"] = {"conv"};
    CHECK(failure(config) == "layer_types: expected num_hidden_layers blocks, 2, found 1");
    config = tests::small_config("nemotron_h");
    CHECK(kinds(config) == "mamba2 attention mlp ");
    config["hybrid_override_pattern"] = "-E";
    CHECK(failure(config).starts_with(
        "hybrid_override_pattern[1]: expected a block that is read, found the text \"E\"; which experts"));
    config["layers_block_type"] = {"mlp", "mamba", "mamba", "full_attention"};
    CHECK(kinds(config) == "mlp mamba2 mamba2 attention ");
    config = tests::small_config("recurrent_gemma");
    config["num_hidden_layers"] = 3;
    CHECK(kinds(config) == "recurrent attention recurrent ");
}

TEST_CASE("huggingface config: a first block of its own, and a size that all blocks share") {
    json config = tests::small_config("rwkv7");
    config["num_hidden_layers"] = 3;
    config["value_dim"] = json::array({12, 12, 12});
    auto read = read_config(config.dump(), "config.json");
    REQUIRE_MESSAGE(read, read.status().message());
    CHECK(read->kinds == std::vector<size_t>{0, 1, 1});
    CHECK(read->size("value_dim") == 12);
    CHECK(read->size("head_v_dim") == 6);
    config["value_dim"] = 18;
    config["intermediate_size"] = nullptr;
    read = read_config(config.dump(), "config.json");
    REQUIRE(read);
    CHECK(read->size("value_dim") == 18);
    CHECK(read->size("intermediate_size") == 32); // four times 6, up to a multiple of 32
    config["value_dim"] = nullptr;
    read = read_config(config.dump(), "config.json");
    REQUIRE(read);
    CHECK(read->size("value_dim") == 6);
    for (const json &value : {json::array(), json::array({12, 12}), json::array({12, 12, 18}), json("12")}) {
        config["value_dim"] = value;
        CHECK(failure(config).find("value_dim: expected a") != std::string::npos);
    }
    config["value_dim"] = 12;
    config[""] = 1;
    CHECK(failure(config).find("expected a key of rwkv7 that is known") != std::string::npos);
    config = tests::small_config("xlstm");
    config["qk_dim_factor"] = 1e-3;
    CHECK(failure(config).find("qk_dim: expected 1 or more, found 0") != std::string::npos);
    config["qk_dim_factor"] = 0.7;
    CHECK(failure(config).find("qk_dim: expected a multiple of num_heads, 3, found 4") != std::string::npos);
}

TEST_CASE("huggingface config: what attention sees") {
    const json config = tests::small_config("lfm2"), gemma = tests::small_config("recurrent_gemma"),
               mamba = tests::small_config("mamba");
    const auto window = [](const json &of, uint32_t context) {
        const auto read = read_config(of.dump(), "config.json", context);
        REQUIRE_MESSAGE(read, read.status().message());
        CHECK(read->attentions() == 1);
        return read->window();
    };
    CHECK(window(config, 0) == 0);
    CHECK(window(config, 64) == 64);
    CHECK(window(gemma, 0) == 2048); // its own
    CHECK(window(gemma, 64) == 64);
    CHECK(window(gemma, 4096) == 2048);
    const auto read = read_config(mamba.dump(), "config.json", 64);
    REQUIRE(!read);
    CHECK(read.status().message() ==
          "--context: expected a model with attention, found none in this mamba; leave out --context");
}

TEST_CASE("huggingface config: rotary positions, as transformers 4 and 5 write them") {
    json config = tests::small_config("qwen3_next");
    const auto positions = [&]() {
        const auto read = read_config(config.dump(), "config.json");
        REQUIRE_MESSAGE(read, read.status().message());
        return std::pair{read->number("rope_theta"), read->size("rotated")};
    };
    config["head_dim"] = 8;
    CHECK(positions() == std::pair{1e4, uint64_t{2}}); // a quarter
    config["rope_theta"] = 1e6;
    config["partial_rotary_factor"] = 0.5;
    config["rope_scaling"] = nullptr;
    CHECK(positions() == std::pair{1e6, uint64_t{4}});
    config["rope_parameters"] = {
        {"rope_type", "default"}, {"rope_theta", 100.0}, {"partial_rotary_factor", 1}};
    CHECK(positions() == std::pair{100.0, uint64_t{8}});
    config["rope_parameters"]["rope_type"] = "yarn";
    CHECK(failure(config) ==
          "rope_parameters.rope_type: expected \"default\", found the text \"yarn\"; other "
          "types of rotary positions are not read");
    config["rope_parameters"] = {{"rope_theta", 100.0}, {"factor", 2}};
    CHECK(failure(config).find("factor") != std::string::npos);
    config["rope_parameters"] = {{"rope_theta", nullptr}};
    CHECK(failure(config) == "rope_theta: expected a number from 1 to 1e+30, found null");
    config["rope_parameters"] = {{"partial_rotary_factor", 0.4}}; // three features
    CHECK(failure(config) == "rotated: expected a multiple of 2, found 3");
    config = tests::small_config("lfm2");
    config["partial_rotary_factor"] = 0.5; // which transformers does not look at
    CHECK(failure(config) == "partial_rotary_factor: expected a number from 1 to 1, found 0.5");
    config = tests::small_config("olmo_hybrid");
    config["rope_parameters"] = {{"rope_theta", nullptr}};
    const auto read = read_config(config.dump(), "config.json");
    REQUIRE(read);
    CHECK(!read->holds("rotary"));
}

TEST_CASE("huggingface config: a language model within another one") {
    json config = tests::small_config("qwen3_5");
    config["vision_config"] = {{"depth", 2}};
    config["tie_word_embeddings"] = true;
    config["text_config"]["tie_word_embeddings"] = false; // transformers looks at the outer one
    const auto read = read_config(config.dump(), "config.json");
    REQUIRE_MESSAGE(read, read.status().message());
    CHECK(read->holds("tie_word_embeddings"));
    config["hidden_size"] = 6; // belongs inside
    CHECK(failure(config).starts_with("hidden_size: expected a key of qwen3_5 that is known"));
    config.erase("hidden_size");
    config["audio_config"] = json::object();
    CHECK(failure(config).starts_with("audio_config: expected a key of qwen3_5 that is known"));
    config["text_config"]["model_type"] = "qwen3_next";
    CHECK(
        failure(config).starts_with("text_config: expected an object with the model_type \"qwen3_5_text\""));
}

TEST_CASE("huggingface config: experts are refused with the reason") {
    for (const auto &[type, key] :
         {std::pair{"qwen3_next", "num_experts"}, std::pair{"granitemoehybrid", "num_local_experts"}}) {
        json config = tests::small_config(type);
        config[key] = 4;
        CHECK(failure(config) == std::string(key) + ": expected 0, found 4; " + huggingface::no_experts);
        config.erase(key); // transformers has some then
        CHECK(failure(config).starts_with(std::string(key) + ": expected 0, found"));
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
    CHECK(config.holds("a & !off"));
    CHECK(!config.holds("a & off"));
    config.numbers = {{"x", 0.5}};
    CHECK(config.number("x * b / 8") == 0.25);
    CHECK(config.number("1e-6 / sqrt(b)") == doctest::Approx(5e-7));
    CHECK(config.number("bfloat16_sqrt(a)") == 1.734375); // 7 bits behind the first one
    CHECK(std::isnan(config.number("unknown")));
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
    std::string types;
    for (const huggingface::Architecture &known : huggingface::architectures())
        types += (types.empty() ? "\"" : ", \"") + known.model_type + "\"";
    refused_with("model_type", "llama",
                 "model_type: expected one of " + types + ", found the text \"llama\"");
    refused_with("model_type", 2, "model_type: expected one of " + types + ", found 2");
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
                 "hidden_act: expected one of \"gelu\", \"gelu_pytorch_tanh\", \"relu\", \"silu\", "
                 "\"swish\", found the text \"mish\"");
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
        std::vector<const std::vector<huggingface::Row> *> lists = {&of.before, &of.after};
        for (const huggingface::Block &block : of.blocks) lists.push_back(&block.rows);
        for (const auto *rows : lists) {
            std::set<std::string> made = {"x"}, of_first;
            if (!of.blocks.empty())
                for (const huggingface::Row &row : of.blocks[0].rows) of_first.insert(row.name);
            for (const huggingface::Row &row : *rows) {
                CAPTURE(row.name);
                for (const huggingface::Operand &read : row.reads) {
                    using Kind = huggingface::Operand::Kind;
                    if (read.kind == Kind::value) CHECK(made.count(read.name) == 1);
                    if (read.kind == Kind::first) CHECK(of_first.count(read.name) == 1);
                    for (const std::string &sum :
                         {read.each, read.times, read.groups, read.stride, read.repeats})
                        CHECK(config->size(sum) != UINT64_MAX);
                    for (const auto &part : read.parts) {
                        CHECK(config->size(part.count) != UINT64_MAX);
                        if (read.kind == Kind::filled) CHECK(!std::isnan(config->number(part.first)));
                        else CHECK(config->size(part.first) != UINT64_MAX);
                    }
                }
                CHECK(made.insert(row.name).second);
            }
        }
    }
}

} // namespace config_test
