// The short-long convolution and the block around it, as graphs; and what they refuse.
#include "compiler/ir/op.h"
#include "compiler/ir/text.h"
#include "tests/unit/compiler/layers/tiny_model.h"
#include <algorithm>
#include <doctest/doctest.h>

namespace chela_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

Shapes short_long_shapes(const std::string &name, bool causal) {
    Shapes shapes = {
        {name + ".short.0.conv.weight", {4, 1, 3}}, {name + ".long.k0", {4, 9}}, {name + ".long.D", {4}}};
    if (!causal) shapes.push_back({name + ".long.k1", {4, 9}});
    return shapes;
}

Shapes block_shapes(bool causal, uint64_t values = 4) {
    Shapes shapes = short_long_shapes("b", causal);
    for (const char *norm : {"b.norm", "b.nffn.norm"})
        for (const char *name : {".weight", ".bias"}) shapes.push_back({std::string(norm) + name, {4}});
    shapes.insert(shapes.end(), {{"b.gamma", {2, 4}}, {"b.beta", {2, 4}}});
    const auto linear = [&](const std::string &name, uint64_t out, uint64_t in) {
        shapes.push_back({name + ".weight", {out, in}});
        shapes.push_back({name + ".bias", {out}});
    };
    linear("b.v_proj", values, 4);
    linear("b.g_proj", values, 4);
    linear("b.o_gate", 4, 4);
    linear("b.h_proj", 4, values);
    linear("b.nffn.fc1", 6, 4);
    linear("b.nffn.fc2", 4, 6);
    return shapes;
}

const std::string branches =
    R"("short_branches": [{"kind": "conv1d", "kernel": 3, "bias": false}, {"kind": "identity"}])";

std::string block(const std::string &options) {
    return R"([{"type": "chela", "name": "b", "norm": "layer", "ffn_width": 6, "long_d": true, )" + branches +
           options + "}]";
}

ir::Graph graph_of(const std::string &layers, const Shapes &shapes) {
    auto graph = lowered("features 4", layers, weights_of(shapes));
    REQUIRE_MESSAGE(graph, graph.status().message());
    return *std::move(graph);
}

long count(const ir::Graph &graph, const std::string &op) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [&](const ir::Node &node) { return node.op->name == op; });
}

std::string refused(const std::string &layers, const Shapes &shapes) {
    auto graph = lowered("features 4", layers, weights_of(shapes));
    REQUIRE(!graph);
    CHECK(graph.status().fault() == Fault::input);
    return graph.status().message();
}

void says(const std::string &message, const std::string &part) {
    CHECK_MESSAGE(message.find(part) != std::string::npos, message);
}

} // namespace

TEST_CASE(
    "lower: a short-long convolution is branches, SiLU and the long convolution, in the order of its mode") {
    const auto layer = [](const std::string &mode) {
        return R"([{"type": "short_long", "name": "c", "long_d": true, "short_mode": ")" + mode + "\", " +
               branches + "}]";
    };
    const ir::Graph serial = graph_of(layer("serial_silu"), short_long_shapes("c", true));
    REQUIRE(serial.nodes.size() == 4);
    CHECK(serial.nodes[0].op->name == std::string("conv2d"));
    CHECK(serial.nodes[1].op->name == std::string("add"));
    CHECK(serial.nodes[2].op->name == std::string("silu"));
    CHECK(serial.nodes[3].op->name == std::string("long_conv"));
    CHECK(serial.nodes[0].layer == "c/short");
    CHECK(serial.nodes[3].layer == "c/long");
    CHECK(count(graph_of(layer("serial_linear"), short_long_shapes("c", true)), "silu") == 0);
    const ir::Graph parallel = graph_of(layer("parallel"), short_long_shapes("c", true));
    const ir::Node &sum = parallel.nodes.back();
    CHECK(sum.op->name == std::string("add"));
    CHECK(parallel.producer(sum.inputs[1])->inputs[0] == parallel.inputs[0].value); // of x itself
}

TEST_CASE(
    "lower: two-sided, short branches are centred, the long kernel has two sides, attention sees all rows") {
    const ir::Graph graph = graph_of(block(R"(, "causal": false)"), block_shapes(false));
    CHECK(count(graph, "centred_conv") == 1);
    CHECK(count(graph, "conv2d") == 0);
    CHECK(count(graph, "linear_attention_offline") == 1);
    CHECK_FALSE(graph.type(graph.outputs[0].value).causal);
    for (const ir::Node &node : graph.nodes)
        if (node.op->name == std::string("long_conv")) {
            CHECK(node.integer("two_sided") == 1);
            CHECK(graph.type(node.inputs[1]).dims == std::vector<uint32_t>{2, 4, 9});
        }
}

TEST_CASE("lower: a chela block has the norms, gates and widths that its options say") {
    const ir::Graph plain = graph_of(block(""), block_shapes(true));
    CHECK(count(plain, "linear_attention") == 1);
    CHECK(count(plain, "layer_norm") == 2);
    CHECK(count(plain, "rms_norm") == 1);
    CHECK(count(plain, "linear") == 5);
    CHECK(plain.type(plain.outputs[0].value).dims == std::vector<uint32_t>{4});
    CHECK(plain.type(plain.outputs[0].value).causal);
    CHECK(count(graph_of(block(R"(, "att_norm": "none")"), block_shapes(true)), "rms_norm") == 0);
    const ir::Graph wide =
        graph_of(block(R"(, "value_width": 6, "h_proj": true, "heads": 2, "att_norm_groups": 3)"),
                 block_shapes(true, 6));
    CHECK(count(wide, "linear") == 6);
    for (const ir::Node &node : wide.nodes) {
        if (node.op->name == std::string("rms_norm")) CHECK(node.integer("groups") == 3);
        if (node.op->name == std::string("linear_attention")) CHECK(node.integer("heads") == 2);
    }
}

TEST_CASE("lower: what lies inside a chela block can be read by its address") {
    const nlohmann::json layers = nlohmann::json::parse(block(""));
    nlohmann::json model = {
        {"format", "longwave-model"}, {"version", 1}, {"name", "inside"}, {"layers", layers}};
    model["inputs"] = nlohmann::json::array({{{"name", "x"}, {"kind", "features"}, {"width", 4}}});
    for (const char *value : {"Z", "A", "M", "U"})
        model["outputs"].push_back({{"name", value}, {"from", std::string("b/") + value}});
    const auto package = package::parse(model.dump(), weights_of(block_shapes(true)));
    REQUIRE_MESSAGE(package, package.status().message());
    const auto graph = compiler::lower(*package);
    REQUIRE_MESSAGE(graph, graph.status().message());
    REQUIRE(graph->outputs.size() == 4);
    CHECK(graph->producer(graph->outputs[0].value)->op->name == std::string("long_conv"));
    CHECK(graph->producer(graph->outputs[1].value)->op->name == std::string("linear_attention"));
    model["outputs"].push_back({{"name", "other"}, {"from", "b/Q"}});
    CHECK(!package::parse(model.dump(), weights_of(block_shapes(true))));
}

TEST_CASE("lower: what a chela block refuses") {
    says(
        refused(block(R"(, "value_width": 6)"), block_shapes(true, 6)),
        "layers[0].value_width (b): expected 4 without \"h_proj\", found 6; values of another width need the "
        "projection h_proj");
    says(refused(block(R"(, "heads": 3)"), block_shapes(true)),
         "layers[0].heads (b): expected a divisor of 4 features, found 3");
    says(refused(block(R"(, "long": "sgconv")"), block_shapes(true)),
         "layers[0].kernel_dim (b): expected this key (\"long\": \"sgconv\" needs it), found no such key");
    Shapes without = block_shapes(true);
    std::erase_if(without, [](const auto &shape) { return shape.first == "b.long.k0"; });
    says(refused(block(""), without), "tensor \"b.long.k0\" of shape (features, taps), found no such tensor");
    says(refused(block(R"(, "causal": false)"), block_shapes(true)),
         "tensor \"b.long.k1\": expected shape [4, 9]");
    const std::string even = R"([{"type": "branches", "name": "c", "causal": false,
        "branches": [{"kind": "conv1d", "kernel": 4, "bias": false}]}])";
    says(refused(even, {{"c.0.conv.weight", {4, 1, 4}}}),
         "layers[0].branches (c): expected an odd kernel, which has a middle, found 4 taps in branch 0");
}

} // namespace chela_test
