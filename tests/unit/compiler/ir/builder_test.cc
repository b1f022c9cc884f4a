#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace builder_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

struct Fixture {
    Builder builder{"test"};
    ValueId x = builder.input({.name = "x", .kind = GraphInput::Kind::features}, {.dims = {4}});
    ValueId w = builder.constant("w", {3, 4}, std::vector<double>(12));

    // The status of adding a node that must be refused.
    Status refused(const std::string &op, std::vector<ValueId> inputs, Attributes attributes) {
        const auto made = builder.node(op, std::move(inputs), std::move(attributes), "head");
        REQUIRE(!made);
        return made.status();
    }
};

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_FIXTURE(Fixture, "builder: a node gets the type its op infers") {
    const auto y = builder.node("linear", {x, w}, {{"bias", int64_t{0}}}, "head");
    REQUIRE(y);
    CHECK(builder.graph().type(*y) == Type{.dims = {3}});
    CHECK(builder.graph().producer(*y)->layer == "head");
}

TEST_CASE_FIXTURE(Fixture, "builder: an unknown op is refused with layer and name") {
    const Status status = refused("lineaar", {x, w}, {});
    CHECK(status.fault() == Fault::input);
    CHECK(status.message() == "layer head: lineaar: there is no such op");
}

TEST_CASE_FIXTURE(Fixture, "builder: a missing attribute is refused") {
    const Status status = refused("linear", {x, w}, {});
    CHECK(status.fault() == Fault::input);
    CHECK(status.message() == "layer head: linear: attribute bias is missing: expected an integer");
}

TEST_CASE_FIXTURE(Fixture, "builder: an unknown attribute is refused") {
    const Status status = refused("linear", {x, w}, {{"bias", int64_t{0}}, {"bais", int64_t{1}}});
    CHECK(status.fault() == Fault::input);
    CHECK(contains(status.message(), "attribute bais is unknown"));
}

TEST_CASE_FIXTURE(Fixture, "builder: an attribute of the wrong kind is refused") {
    CHECK(contains(refused("linear", {x, w}, {{"bias", 0.0}}).message(),
                   "attribute bias expected an integer, found a number"));
    CHECK(contains(refused("linear", {x, w}, {{"bias", "no"}}).message(),
                   "attribute bias expected an integer, found a text"));
    CHECK(contains(refused("rms_norm", {x, w}, {{"eps", int64_t{1}}}).message(),
                   "attribute eps expected a number, found an integer"));
    CHECK(contains(refused("mean", {x}, {{"mode", int64_t{1}}}).message(),
                   "attribute mode expected a text, found an integer"));
}

TEST_CASE_FIXTURE(Fixture, "builder: a number that is not finite is refused") {
    CHECK(contains(refused("log", {x}, {{"offset", std::nan("")}}).message(),
                   "attribute offset expected a finite number"));
}

TEST_CASE_FIXTURE(Fixture, "builder: shapes that do not fit are refused with expected and found") {
    const ValueId wide = builder.constant("wide", {3, 5}, std::vector<double>(15));
    const Status status = refused("linear", {x, wide}, {{"bias", int64_t{0}}});
    CHECK(status.fault() == Fault::input);
    CHECK(status.message() == "layer head: linear: weight expected shape [any,4], found [3,5]");
}

TEST_CASE_FIXTURE(Fixture, "builder: clocks that do not fit are refused") {
    const ValueId kernel = builder.constant("k", {4, 4, 2, 1}, std::vector<double>(32));
    const Attributes halving{{"stride_t", int64_t{2}},
                             {"stride_f", int64_t{1}},
                             {"groups", int64_t{1}},
                             {"bias", int64_t{0}},
                             {"frequency", int64_t{0}}};
    const auto slow = builder.node("conv2d", {x, kernel}, halving, "stem");
    REQUIRE(slow);
    const Status status = refused("add", {x, *slow}, {});
    CHECK(status.fault() == Fault::input);
    CHECK(contains(status.message(), "expected two inputs of one clock, found 1/1 and 1/2"));
}

TEST_CASE_FIXTURE(Fixture, "builder: the wrong number of inputs is refused") {
    CHECK(contains(refused("relu", {x, x}, {}).message(), "expects 1 input, found 2"));
    CHECK(contains(refused("add", {x}, {}).message(), "expects 2 inputs, found 1"));
    CHECK(contains(refused("linear", {x, w}, {{"bias", int64_t{1}}}).message(), "expects 3 inputs, found 2"));
    CHECK(contains(refused("relu", {}, {}).message(), "expects 1 input, found 0"));
}

TEST_CASE_FIXTURE(Fixture, "builder: an input id that does not exist is our own defect") {
    const Status status = refused("relu", {99}, {});
    CHECK(status.fault() == Fault::internal);
    CHECK(contains(status.message(), "input %99 does not exist"));
}

TEST_CASE_FIXTURE(Fixture, "builder: a refused node leaves the graph as it was") {
    const std::string before = print(builder.graph());
    (void)refused("relu", {x, x}, {});
    CHECK(print(builder.graph()) == before);
}

TEST_CASE("rewriter: keeping every node gives the same graph") {
    // Constants between nodes keep their places.
    const std::string text = R"(graph "same"
%0 = input "x" features : f32[4] @1/1 causal
%1 = relu(%0) : f32[4] @1/1 causal
%2 = const "w" : [3,4]
%3 = linear(%1, %2) {bias=0} : f32[3] @1/1 causal   ; layer head
output "y" %3
certificate "p" "l" "w" 1e-16
)";
    const Graph graph = graph_of(text);
    Rewriter rewriter(graph);
    const auto copy = rewriter.run([](Rewriter &to, const Node &node) { return to.keep(node); });
    REQUIRE(copy);
    CHECK(print(*copy) == text);
}

TEST_CASE("rewriter: what nothing reads any more is dropped") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[4] @1/1
        %w = const "w" : [4]
        %b = const "b" : [4]
        %a = affine(%x, %w, %b)
        %y = relu(%a)
        output "y" %y)");
    Rewriter rewriter(graph);
    const auto out = rewriter.run([](Rewriter &to, const Node &node) -> Expected<ValueId> {
        if (std::string(node.op->name) == "affine") return to.map(node.inputs[0]);
        return to.keep(node);
    });
    REQUIRE(out);
    CHECK(out->constants.empty());
    CHECK(out->nodes.size() == 1);
    CHECK(out->nodes[0].inputs == std::vector<ValueId>{0});
}

TEST_CASE("rewriter: a failure of the rewrite is the failure of the run") {
    const Graph graph = graph_of("%x = input \"x\" features : f32[4] @1/1\n%y = relu(%x)\noutput \"y\" %y");
    Rewriter rewriter(graph);
    const auto out =
        rewriter.run([](Rewriter &, const Node &) -> Expected<ValueId> { return Status::input("no"); });
    REQUIRE(!out);
    CHECK(out.status().message() == "no");
}

TEST_CASE("drop_unused: inputs stay, for they are the model's interface") {
    const Graph graph = graph_of(R"(
        %a = input "a" features : f32[4] @1/1
        %b = input "b" features : f32[4] @1/1
        %y = relu(%b)
        output "y" %y)");
    const Graph dropped = drop_unused(graph);
    CHECK(dropped.inputs.size() == 2);
    CHECK(verify(dropped));
}

TEST_CASE("copy_into: stops at mapped values and refuses to go past an input") {
    const Graph graph =
        graph_of("%x = input \"x\" features : f32[4] @1/1\n%y = relu(%x)\n%z = gelu(%y)\noutput \"z\" %z");
    Builder to("copy");
    std::map<ValueId, ValueId> mapped{{1, to.input({.name = "y"}, graph.type(1))}};
    const auto copy = copy_into(to, graph, 2, mapped);
    REQUIRE(copy);
    CHECK(to.graph().nodes.size() == 1);
    mapped.clear();
    const auto refused = copy_into(to, graph, 2, mapped);
    REQUIRE(!refused);
    CHECK(refused.status().fault() == Fault::internal);
}

} // namespace builder_test
