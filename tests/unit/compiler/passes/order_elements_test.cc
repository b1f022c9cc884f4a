// Elements between takes lie as they come, and every result keeps its bits.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace order_elements_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

// A row of two parts of [3, 4]: each is transposed, both are added, and the sum is transposed back.
const Numbers first{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11},
    second{12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23},
    back{-1, 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1};

const char *const head = R"(graph "g"
    %x = input "x" features : f32[24] @1/1
    %a = const "a" : [12]
    %b = const "b" : [12]
    %c = const "c" : [14]
    %0 = take(%x, %a) {bands=1}
    %1 = take(%x, %b) {bands=1}
)";

// The indexes of the takes afterwards; the same results.
std::vector<std::vector<double>> ordered(const std::string &rest) {
    const Graph graph =
        graph_of(head + rest, {{"a", first.to_vector()}, {"b", second.to_vector()}, {"c", back.to_vector()}});
    auto made = compiler::order_elements(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    for (const size_t rows : {1u, 5u}) {
        const Array x = rows_of(24, random_numbers(rows * 24, 3));
        CHECK(run(*made, x).data == run(graph, x).data);
    }
    std::vector<std::vector<double>> indexes;
    for (const Node &node : made->nodes)
        if (node.op->rewrites.takes_elements)
            indexes.push_back(made->constant(node.inputs[1])->data.to_vector());
    return indexes;
}

} // namespace

TEST_CASE("order_elements: what is transposed and transposed back stays as it is") {
    const auto found = ordered("%2 = square(%0)\n%3 = square(%1)\n%4 = add(%2, %3)\n%5 = sqrt(%4)\n"
                               "%6 = take(%5, %c) {bands=1}\noutput \"y\" %6");
    REQUIRE(found.size() == 3);
    for (size_t i = 0; i < 12; ++i) {
        CHECK(found[0][i] == i);
        CHECK(found[1][i] == 12 + i);
        CHECK(found[2][i + 1] == i);
    }
    CHECK(found[2].front() == -1);
    CHECK(found[2].back() == -1);
}

TEST_CASE("order_elements: values that an output, a matrix or a constant reads keep their order") {
    const auto kept = [](const std::string &rest) { return ordered(rest)[0] == first.to_vector(); };
    CHECK(kept("%2 = add(%0, %1)\noutput \"y\" %2"));
    CHECK(kept("%2 = add(%0, %1)\n%3 = take(%2, %c) {bands=1}\noutput \"y\" %3\noutput \"z\" %2"));
    CHECK(kept("%2 = add(%0, %1)\n%3 = softmax(%2)\n%4 = take(%3, %c) {bands=1}\noutput \"y\" %4"));
}

TEST_CASE("order_elements: an order without longer runs is left") {
    // Only the way back is there twice: what it gains, the first two lose.
    const auto found = ordered("%2 = add(%0, %1)\n%3 = take(%2, %a) {bands=1}\n%4 = take(%3, %c) {bands=1}\n"
                               "output \"y\" %4");
    CHECK(found.size() == 4);
}

} // namespace order_elements_test
