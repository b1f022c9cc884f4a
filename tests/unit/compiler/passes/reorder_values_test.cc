// Copies in the other order of memory: who reads them, and that nothing else changes.
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace reorder_values_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

// Nodes 0 to 3 in this order.
const char *const text = R"(graph "g"
    %x = input "x" features : f32[2] @1/1
    %a = relu(%x) ; layer first
    %b = sigmoid(%x) ; layer second
    %c = add(%a, %b) ; layer third
    %d = mul(%a, %a) ; layer fourth
    output "c" %c
    output "d" %d
    output "again" %c)";

Graph reordered(const Graph &graph, const std::vector<compiler::ValueCopy> &copies) {
    auto made = compiler::reorder_values(graph, copies);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    const Array x = rows_of(2, random_numbers(10, 3));
    check_close(run(*made, x).data, run(graph, x).data, 0);
    return *std::move(made);
}

// What the copies are made of, and the layers that they count to.
std::vector<std::string> layers_of_copies(const Graph &graph) {
    std::vector<std::string> layers;
    for (const Node &node : graph.nodes)
        if (node.op == find_op("reorder_rows")) layers.push_back(node.layer);
    return layers;
}

bool is_copy(const Graph &graph, ValueId value) {
    const Node *node = graph.producer(value);
    return node && node->op == find_op("reorder_rows");
}

const Node &of_layer(const Graph &graph, const std::string &layer, const char *op) {
    for (const Node &node : graph.nodes)
        if (node.layer == layer && node.op == find_op(op)) return node;
    FAIL("no such node");
    return graph.nodes[0];
}

} // namespace

TEST_CASE("reorder_values: some readers of an input") {
    const Graph graph = graph_of(text, {});
    const Graph made = reordered(graph, {{.value = graph.inputs[0].value, .readers = {1}}});
    CHECK(layers_of_copies(made) == std::vector<std::string>{"second"});
    CHECK(!is_copy(made, of_layer(made, "first", "relu").inputs[0]));
    CHECK(is_copy(made, of_layer(made, "second", "sigmoid").inputs[0]));
    CHECK(made.nodes.size() == graph.nodes.size() + 1);
}

TEST_CASE("reorder_values: a value that a node reads twice, and outputs") {
    const Graph graph = graph_of(text, {});
    const ValueId a = graph.nodes[0].output, c = graph.nodes[2].output;
    const Graph made = reordered(graph, {{.value = a, .readers = {3}}, {.value = c, .output = true}});
    CHECK(layers_of_copies(made) == std::vector<std::string>{"fourth", "third"});
    const Node &product = of_layer(made, "fourth", "mul"), &sum = of_layer(made, "third", "add");
    CHECK(is_copy(made, product.inputs[0]));
    CHECK(product.inputs[0] == product.inputs[1]);
    CHECK(!is_copy(made, sum.inputs[0]));
    CHECK(is_copy(made, made.outputs[0].value));
    CHECK(!is_copy(made, made.outputs[1].value));
    CHECK(made.outputs[0].value == made.outputs[2].value);
}

TEST_CASE("reorder_values: no copies, the same graph") {
    const Graph graph = graph_of(text, {});
    CHECK(print(reordered(graph, {})) == print(graph));
}

} // namespace reorder_values_test
