// The layer `attention` as graph text, and what it refuses.
#include "compiler/ir/op.h"
#include "compiler/ir/text.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <doctest/doctest.h>

namespace attention_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

const Shapes block = {{"a.q_proj.weight", {4, 4}}, {"a.k_proj.weight", {4, 4}}, {"a.v_proj.weight", {4, 4}},
                      {"a.o_proj.weight", {4, 4}}, {"a.r_proj.weight", {4, 4}}, {"a.r_w_bias", {2, 2}},
                      {"a.r_r_bias", {2, 2}}};

std::string layer(const std::string &options) {
    return R"([{"type": "attention", "name": "a", "heads": 2, "bias": false)" + options + "}]";
}

void refused(const std::string &options, const std::vector<std::string> &words) {
    const auto graph = lowered("features 4", layer(options), weights_of(block));
    REQUIRE_FALSE(graph);
    for (const std::string &word : words)
        CHECK_MESSAGE(graph.status().message().find(word) != std::string::npos, graph.status().message());
}

} // namespace

TEST_CASE("lower: attention, with keys and values of one product whose last feature is 1") {
    for (const auto &[options, ops] :
         {std::pair(R"(, "window": 3)", "linear linear softmax_attention linear"),
          {R"(, "causal": false, "output_projection": false)", "linear linear softmax_attention"},
          {R"(, "window": 3, "relative": true)", "linear linear softmax_attention linear"},
          {R"(, "window": 3, "rotary": true)", "linear linear rotary rotary softmax_attention linear"}}) {
        auto graph = lowered("features 4", layer(options), weights_of(block));
        REQUIRE_MESSAGE(graph, graph.status().message());
        std::string found;
        for (const ir::Node &node : graph->nodes)
            found += std::string(found.empty() ? "" : " ") + node.op->name;
        CHECK(found == ops);
        const ir::Node &kv = graph->nodes[1];
        CHECK(graph->type(kv.output).dims == std::vector<uint32_t>{9});
        const auto &bias = graph->constant(kv.inputs[2])->data;
        CHECK(bias[8] == 1);
        for (size_t i = 0; i < 8; ++i) CHECK(bias[i] == 0);
        for (size_t i = 32; i < 36; ++i) CHECK(graph->constant(kv.inputs[1])->data[i] == 0);
        auto again = ir::parse(ir::print(*graph));
        REQUIRE_MESSAGE(again, again.status().message());
        CHECK(ir::print(*again) == ir::print(*graph));
    }
}

TEST_CASE("lower: attention says what does not go together, and the way out") {
    refused(R"(, "window": 3, "causal": false)", {"window", "none where causal is false", "3"});
    refused(R"(, "relative": true)", {"relative", "give \"window\""});
    refused(R"(, "window": 3, "relative": true, "rotary": true)", {"rotary", "false where relative is true"});
    refused(R"(, "head_width": 1, "rotary": true)", {"rotary", "heads of an even width"});
    refused(R"(, "head_width": 3)", {"q_proj.weight"});
    auto graph =
        lowered("features 4", R"([{"type": "attention", "name": "a", "heads": 3}])", weights_of(block));
    REQUIRE_FALSE(graph);
    CHECK(graph.status().message().find("head_width") != std::string::npos);
}

} // namespace attention_test
