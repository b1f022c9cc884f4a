// A gate that no kernel before it computes becomes ops that have kernels.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace split_lone_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

const Weights weights{{"w", random_numbers(16, 1)}, {"k", random_numbers(32, 2)}};

const char *const head = R"(graph "g"
    %x = input "x" features : f32[4] @1/1
    %w = const "w" : [4,4]
    %k = const "k" : [4,4,2,1]
)";

std::vector<std::string> ops_after(const std::string &rest) {
    const Graph graph = graph_of(head + rest, weights);
    auto made = compiler::split_lone(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    for (const size_t rows : {1u, 7u}) {
        const Array x = rows_of(4, random_numbers(rows * 4, 3));
        check_close(run(*made, x).data, run(graph, x).data, 1e-15);
    }
    std::vector<std::string> ops;
    for (const Node &node : made->nodes) ops.push_back(node.op->name);
    return ops;
}

using Ops = std::vector<std::string>;
const Ops split{"take", "take", "sigmoid", "mul"};

} // namespace

TEST_CASE("split_lone: a glu of the input, behind a convolution, and of rows that others read") {
    CHECK(ops_after("%0 = glu(%x)\noutput \"y\" %0") == split);
    Ops behind = split;
    behind.insert(behind.begin(), "conv2d");
    CHECK(ops_after("%0 = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0}\n"
                    "%1 = glu(%0)\noutput \"y\" %1") == behind);
    behind[0] = "linear";
    CHECK(ops_after("%0 = linear(%x, %w) {bias=0}\n%1 = glu(%0)\noutput \"y\" %1\noutput \"c\" %0") ==
          behind);
}

TEST_CASE("split_lone: a matrix absorbs the glu behind it") {
    CHECK(ops_after("%0 = linear(%x, %w) {bias=0}\n%1 = glu(%0)\noutput \"y\" %1") == Ops{"linear", "glu"});
}

} // namespace split_lone_test
