// Outputs whose rows have gaps in memory get plain rows; the values stay as they are, bit for bit.
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace pack_outputs_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

Graph packed(const Graph &graph) {
    auto made = compiler::pack_outputs(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    return *std::move(made);
}

// Three frequencies of two channels: every pair is padded to whole vectors.
const char *const image = R"(graph "image"
%0 = input "x" features : f32[3] @1/1
%1 = const "k" : [2,1,1,1]
%2 = conv2d(%0, %1) {bias=0, frequency=1, groups=1, stride_f=1, stride_t=1} : f32[3,2] @1/1 causal   ; layer c
output "y" %2
)";

} // namespace

TEST_CASE("pack_outputs: rows with gaps become plain rows of the same values") {
    const Graph graph = graph_of(image, {{"k", {0.7, -1.3}}}), made = packed(graph);
    CHECK(print(made) == R"(graph "image"
%0 = input "x" features : f32[3] @1/1 causal
%1 = const "k" : [2,1,1,1]
%2 = conv2d(%0, %1) {bias=0, frequency=1, groups=1, stride_f=1, stride_t=1} : f32[3,2] @1/1 causal   ; layer c
%3 = const "identity" : [6,6]
%4 = linear(%2, %3) {bias=0} : f32[6] @1/1 causal   ; layer y
output "y" %4
)");
    const Type &type = made.type(made.outputs[0].value);
    CHECK(type.row() >= type.width());
    CHECK(type.physical(5) == 5);
    const Array x = rows_of(3, random_numbers(12, 1));
    CHECK(run(made, x).data == run(graph, x).data);
}

TEST_CASE("pack_outputs: plain rows, and frequencies of one channel, stay as they are") {
    const Graph graph = graph_of(R"(graph "plain"
%0 = input "x" features : f32[5] @1/1
%1 = const "w" : [20,5]
%2 = linear(%0, %1) {bias=0} : f32[20] @1/1 causal   ; layer l
%3 = const "k" : [1,1,1,1]
%4 = conv2d(%0, %3) {bias=0, frequency=1, groups=1, stride_f=1, stride_t=1} : f32[5,1] @1/1 causal   ; layer c
output "a" %2
output "b" %4
)");
    CHECK(print(packed(graph)) == print(graph));
}

TEST_CASE("pack_outputs: a value that is an output twice, and read inside, is packed for each output only") {
    const std::string text =
        std::string(image) +
        "%5 = relu(%2) : f32[3,2] @1/1 causal   ; layer r\noutput \"z\" %2\noutput \"r\" %5\n";
    const Graph graph = graph_of(text, {{"k", {1, 2}}}), made = packed(graph);
    REQUIRE(made.outputs.size() == 3);
    CHECK(made.outputs[0].name == "y");
    CHECK(made.outputs[2].name == "r");
    for (const GraphOutput &output : made.outputs)
        CHECK(made.type(output.value).dims == std::vector<uint32_t>{6});
    for (const Node &node : made.nodes)
        if (node.layer == "r")
            CHECK(made.type(node.inputs[0]).dims == std::vector<uint32_t>{3, 2}); // reads what it did before
    const Array x = rows_of(3, random_numbers(12, 2));
    const auto before = evaluate(graph, {{"x", x}}), after = evaluate(made, {{"x", x}});
    REQUIRE(before);
    REQUIRE(after);
    for (size_t i = 0; i < 3; ++i) CHECK((*after)[i].data == (*before)[i].data);
}

TEST_CASE("pack_outputs: certificates of earlier passes stay") {
    Graph graph = graph_of(image);
    graph.certificates.push_back({"fold_norms", "c", "batch_norm → affine", 1e-16});
    const Graph made = packed(graph);
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].what == graph.certificates[0].what);
}

} // namespace pack_outputs_test
