// What ops say of themselves to the passes that rewrite them, and the sums of filters that passes
// make of it.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/filter.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace rewrites_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

using Rows = std::vector<std::vector<double>>;

Filter filter_of(Rows taps, std::vector<double> bias) {
    Filter filter = Filter::identity(static_cast<uint32_t>(taps.size()));
    filter.taps = std::move(taps);
    filter.bias = std::move(bias);
    return filter;
}

const Node prepared_node;

Filter prepared(Filter filter, size_t taps) {
    filter.prepared = &prepared_node;
    filter.prepared_taps = taps;
    return filter;
}

} // namespace

TEST_CASE("filter: an identity is one tap, and a channel map scales taps, gain and bias") {
    Filter filter = Filter::identity(2);
    CHECK(filter.taps == Rows{{1}, {1}});
    CHECK_FALSE(filter.biased());
    filter.multiply({2, -1}, {0.5, 0});
    filter.multiply({3}, {1}); // one value for all
    CHECK(filter.taps == Rows{{6}, {-3}});
    CHECK(filter.gain == std::vector<double>{6, -3});
    CHECK(filter.bias == std::vector<double>{2.5, 1});
    CHECK(filter.biased());
}

TEST_CASE("filter: sums are as long as the longer one") {
    Filter a = filter_of({{1, 2}}, {1});
    REQUIRE(a.add(filter_of({{10, 20, 30}}, {0.5})));
    CHECK(a.taps == Rows{{11, 22, 30}});
    CHECK(a.bias == std::vector<double>{1.5});
    CHECK(a.longest() == 3);
}

TEST_CASE(
    "filter: taps that are unknown now take shorter ones, in either order, and no second unknown ones") {
    const Filter known = filter_of({{1, 2}}, {0});
    Filter expanded = prepared(filter_of({{0}}, {0}), 16);
    expanded.gain = {4};

    Filter a = known, b = expanded;
    REQUIRE(a.add(expanded));
    REQUIRE(b.add(known));
    for (const Filter &sum : {a, b}) {
        CHECK(sum.taps == Rows{{1, 2}});
        CHECK(sum.prepared == &prepared_node);
        CHECK(sum.gain == std::vector<double>{4});
        CHECK(sum.longest() == 16);
    }
    CHECK_FALSE(b.add(expanded));
    const Filter longer = filter_of({std::vector<double>(17, 1.0)}, {0});
    Filter c = longer;
    CHECK_FALSE(b.add(longer));
    CHECK_FALSE(c.add(b));
    CHECK(b.taps == Rows{{1, 2}});
    CHECK(c.taps == longer.taps);
}

TEST_CASE("rewrites: what folds a map of its result into its weights has an attribute for the bias") {
    for (const OpDef *op : all_ops()) {
        if (!op->rewrites.fold_result && !op->rewrites.fold_input) continue;
        CAPTURE(op->name);
        CHECK(std::any_of(op->attributes.begin(), op->attributes.end(),
                          [](const AttributeDef &a) { return std::string("bias") == a.name; }));
    }
}

TEST_CASE("rewrites: a filter that any other can become exists once") {
    const auto ops = all_ops();
    CHECK(std::count_if(ops.begin(), ops.end(), [](const OpDef *op) {
              return op->rewrites.filter && op->rewrites.filter->any;
          }) == 1);
}

TEST_CASE("rewrites: a kernel that is prepared when the model is opened has no kernel rule: its reader "
          "absorbs it") {
    size_t prepared = 0;
    for (const OpDef *op : all_ops()) {
        if (!op->rewrites.prepared) continue;
        CAPTURE(op->name);
        prepared++;
        CHECK((!op->kernel && op->algorithms.empty() && op->pointwise == Pointwise::no));
        Node producer, reader;
        producer.op = op;
        const auto absorbs = [&](const OpDef *other, size_t input) {
            reader.op = other;
            return other->absorb_producer && other->absorb_producer(reader, input, producer);
        };
        const auto ops = all_ops();
        CHECK(std::any_of(ops.begin(), ops.end(), [&](const OpDef *other) { return absorbs(other, 1); }));
        CHECK(std::none_of(ops.begin(), ops.end(), [&](const OpDef *other) { return absorbs(other, 0); }));
    }
    CHECK(prepared > 0);
}

TEST_CASE("rewrites: both channel maps say the same of the same numbers") {
    const Graph graph = graph_of(R"(graph "maps"
%0 = input "x" features : f32[4] @1/1
%1 = const "scale" : [4]
%2 = const "shift" : [4]
%3 = affine(%0, %1, %2) ; layer a
%4 = const "mean" : [4]
%5 = const "var" : [4]
%6 = batch_norm(%0, %1, %2, %4, %5) {eps=0.0} ; layer n
output "a" %3
output "n" %6
)",
                                 {{"scale", {1, 2, 3, 4}},
                                  {"shift", {0.5, 0, -0.5, 1}},
                                  {"mean", {0, 0, 0, 0}},
                                  {"var", {1, 1, 1, 1}}});
    for (const Node &node : graph.nodes) {
        const auto map = node.op->rewrites.channel_map(graph, node);
        REQUIRE_MESSAGE(map, map.status().message());
        CHECK(map->scale == std::vector<double>{1, 2, 3, 4});
        CHECK(map->shift == std::vector<double>{0.5, 0, -0.5, 1});
    }
}

} // namespace rewrites_test
