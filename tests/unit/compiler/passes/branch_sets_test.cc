// Random sets of parallel branches become one convolution with the same results, edges included;
// the reference of every op is in float64, so what differs is the order of sums.
#include "compiler/ir/op.h"
#include "compiler/ops/support/filter.h"
#include "compiler/passes/passes.h"
#include "tests/support/branch_sets.h"
#include <algorithm>

namespace branch_sets_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

bool filters(const Graph &graph, const Node &node) {
    return node.op->rewrites.filter && node.op->rewrites.filter->is(graph, node);
}

} // namespace

TEST_CASE("merge_branches: 200 random sets of branches, of one copy or several, one side or both, are one "
          "convolution") {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        const test::BranchSet set(seed);
        const std::string text = fmt::format("%x = input \"x\" features : f32[{}] @1/1\n{}output \"y\" %{}",
                                             set.heads(), set.text(), set.result());
        INFO("seed " << seed << "\n" << text);
        const Graph graph = graph_of(text, set.weights());
        const auto made = compiler::merge_branches(graph);
        REQUIRE_MESSAGE(made, made.status().message());
        const Status status = verify(*made);
        REQUIRE_MESSAGE(status, status.message());
        const auto left = std::count_if(made->nodes.begin(), made->nodes.end(),
                                        [&](const Node &node) { return filters(*made, node); });
        CHECK(left == (set.convolutions() ? 1 : 0));
        if (left) REQUIRE(!made->certificates.empty());
        for (const Certificate &certificate : made->certificates) CHECK(certificate.error <= 1e-12);
        for (const size_t rows : {1u, 3u, 7u, 40u}) { // shorter than the kernels, and longer
            const Array x = rows_of(set.heads(), random_numbers(rows * set.heads(), seed));
            const std::vector<double> before = run(graph, x).data, after = run(*made, x).data;
            double peak = 0;
            for (const double value : before) peak = std::max(peak, std::abs(value));
            CHECK(largest_difference(before, after) <= 1e-12 * peak);
        }
    }
}

} // namespace branch_sets_test
