#include "compiler/ir/op.h"
#include "compiler/ir/verify.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace verify_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

Graph sound() {
    return graph_of(R"(
        %0 = input "x" features : f32[4] @1/1
        %1 = const "w" : [3,4]
        %2 = linear(%0, %1) {bias=0} ; layer head
        %3 = relu(%2) ; layer head
        output "y" %3)");
}

// Breaks a sound graph and checks which rule notices.
template <class Break> void check_broken(const std::string &expected, Break &&make) {
    Graph graph = sound();
    make(graph);
    const Status status = verify(graph);
    REQUIRE(!status);
    CHECK(status.fault() == Fault::internal);
    INFO(status.message());
    CHECK(status.message().find(expected) != std::string::npos);
}

} // namespace

TEST_CASE("verify: a sound graph passes") { CHECK(verify(sound())); }

TEST_CASE("verify: a node that reads a later value is found") {
    check_broken("node 0 (linear, layer head): reads %3, which is computed later",
                 [](Graph &g) { g.nodes[0].inputs[0] = 3; });
    check_broken("node 1 (relu, layer head): reads %3", [](Graph &g) { g.nodes[1].inputs[0] = 3; });
}

TEST_CASE("verify: ids out of range are found") {
    check_broken("input %9 does not exist", [](Graph &g) { g.nodes[1].inputs[0] = 9; });
    check_broken("output is out of range", [](Graph &g) { g.nodes[1].output = 9; });
    check_broken("output \"y\": its value is out of range", [](Graph &g) { g.outputs[0].value = 9; });
    check_broken("input \"x\": its value is out of range", [](Graph &g) { g.inputs[0].value = 9; });
    check_broken("%1: index 5 of 1 is out of range", [](Graph &g) { g.values[1].index = 5; });
}

TEST_CASE("verify: a value has one producer") {
    check_broken("two values name one producer", [](Graph &g) { g.values[3].index = 0; });
    check_broken("%2 is not its output", [](Graph &g) { g.nodes[1].output = 2; });
    check_broken("%1 is not its value", [](Graph &g) { g.inputs[0].value = 1; });
    check_broken("expected one producer each: 4 producers, 5 values",
                 [](Graph &g) { g.values.push_back(g.values[3]); });
}

TEST_CASE("verify: types are what the ops infer") {
    check_broken("its type differs from what the op infers", [](Graph &g) { g.values[3].type.dims = {4}; });
    check_broken("its type differs", [](Graph &g) { g.values[3].type.causal = false; });
    check_broken("its type differs", [](Graph &g) { g.values[3].type.clock = {1, 2}; });
    check_broken("weight expected shape [any,5], found [3,4]", [](Graph &g) { g.values[0].type.dims = {5}; });
    check_broken("%0: has an extent of zero", [](Graph &g) { g.values[0].type.dims = {0}; });
}

TEST_CASE("verify: ops and attributes are known") {
    static const OpDef stray{
        .name = "relu", .attributes = {}, .infer = nullptr, .stream = nullptr, .reference = nullptr};
    check_broken("its op is not in the table", [](Graph &g) { g.nodes[1].op = nullptr; });
    check_broken("its op is not in the table", [](Graph &g) { g.nodes[1].op = &stray; });
    check_broken("attribute bias is missing", [](Graph &g) { g.nodes[0].attributes.clear(); });
    check_broken("attribute slope is unknown", [](Graph &g) { g.nodes[1].attributes["slope"] = 0.1; });
}

TEST_CASE("verify: constants hold as many numbers as their shape") {
    check_broken("constant \"w\": has no data", [](Graph &g) { g.constants[0].data = {}; });
    check_broken("constant \"w\": expected 12 elements, found 3",
                 [](Graph &g) { g.constants[0].data = std::vector<double>(3); });
    check_broken("expected float32 without a time axis", [](Graph &g) { g.values[1].type.clock = {1, 1}; });
}

TEST_CASE("verify: inputs and outputs are there and have names") {
    check_broken("outputs: there are none", [](Graph &g) { g.outputs.clear(); });
    check_broken("names must be there and differ", [](Graph &g) { g.outputs.push_back(g.outputs[0]); });
    check_broken("names must be there and differ", [](Graph &g) { g.inputs[0].name.clear(); });
    check_broken("has no time axis", [](Graph &g) { g.values[0].type.clock = {0, 1}; });
    check_broken("token inputs are i32", [](Graph &g) { g.inputs[0].kind = GraphInput::Kind::tokens; });
}

} // namespace verify_test
