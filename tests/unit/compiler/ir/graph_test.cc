#include "compiler/ir/graph.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace graph_test {

using namespace longwave::ir;

static Type row_of(std::vector<uint32_t> dims) { return {.dims = std::move(dims)}; }

TEST_CASE("type: channels are padded to whole vectors, one channel is not") {
    CHECK(row_of({1}).row() == 1);
    CHECK(row_of({12}).row() == 16);
    CHECK(row_of({16}).row() == 16);
    CHECK(row_of({17}).row() == 32);
    CHECK(row_of({17}).physical(16) == 16);
}

TEST_CASE("type: each frequency has its own padded channels") {
    const Type type = row_of({3, 5});
    CHECK(type.width() == 15);
    CHECK(type.row() == 48);
    CHECK(type.physical(4) == 4);   // (0, 4)
    CHECK(type.physical(5) == 16);  // (1, 0)
    CHECK(type.physical(14) == 36); // (2, 4)
}

TEST_CASE("type: frequencies of one channel are one run") {
    const Type type = row_of({20, 1});
    CHECK(type.row() == 32);
    CHECK(type.physical(19) == 19);
}

TEST_CASE("type: a scalar has one element") {
    CHECK(row_of({}).width() == 1);
    CHECK(row_of({}).row() == 1);
    CHECK(row_of({}).physical(0) == 0);
}

TEST_CASE("graph: a node that reads a value twice is one use, an output another") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[4] @1/1
        %y = add(%x, %x)
        %z = relu(%x)
        output "y" %y
        output "x" %x
        output "z" %z)");
    CHECK(graph.uses(0) == 3);
    CHECK(graph.uses(1) == 1);
    CHECK(graph.producer(1)->op->name == std::string("add"));
    CHECK(graph.producer(0) == nullptr);
    CHECK(graph.constant(0) == nullptr);
}

} // namespace graph_test
