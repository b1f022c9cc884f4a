// Re-parameterisation through the compiled engine: random sets of parallel branches, all in one
// artifact as they stand and in one whose passes have merged each into one convolution. Both are
// float32; what the passes certify in float64 (tests/unit/compiler/passes/branch_sets_test.cc) must
// be left of it behind kernels, plans and edges.
#include "compiler/ir/op.h"
#include "compiler/ops/support/filter.h"
#include "compiler/passes/passes.h"
#include "tests/support/branch_sets.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cstdlib>
#include <doctest/doctest.h>

namespace branch_sets_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// Sums of up to 5 branches of at most 61 products in two orders; measured: 4e-7.
constexpr double limit = 1e-6;
constexpr uint32_t rows = 150, channels = 3;

// Few lengths, for each is a kernel of its own. 61 taps are more than half of a short sequence.
const BranchChoices choices = {
    .heads = {channels}, .copies = {1, 1, 2}, .sizes = {1, 3, 7}, .dilations = {1, 2, 3}, .taps = {4, 61}};

struct Sets {
    std::vector<BranchSet> all;
    ir::Graph graph;
};

Sets sets_of(unsigned first, unsigned count, bool norms_as_affine) {
    BranchChoices these = choices;
    these.norms_as_affine = norms_as_affine;
    Sets sets;
    std::string text = fmt::format("graph \"sets\"\n%x = input \"x\" features : f32[{}] @1/1\n", channels),
                outputs;
    ir::Weights weights;
    for (unsigned seed = first; seed < first + count; ++seed) {
        const BranchSet set(seed, fmt::format("s{}_", seed), these);
        if (set.convolutions() == 0) continue; // identities alone
        text += set.text();
        outputs += fmt::format("output \"y{}\" %{}\n", seed, set.result());
        weights.insert(set.weights().begin(), set.weights().end());
        sets.all.push_back(set);
    }
    sets.graph = ir::graph_of(text + outputs, weights);
    return sets;
}

cli::Model model_of(const ir::Graph &graph) {
    const auto bytes = compile_graph(graph, rows, options_here());
    REQUIRE_MESSAGE(bytes, bytes.status().message());
    auto model = cli::Model::open(*bytes);
    REQUIRE_MESSAGE(model, model.status().message());
    return *model;
}

size_t convolutions_in(const ir::Graph &graph) {
    return static_cast<size_t>(
        std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node &node) {
            return node.op->rewrites.filter && node.op->rewrites.filter->is(graph, node);
        }));
}

} // namespace

TEST_CASE(
    "branch sets: what the compiled engine makes of merged branches is what it makes of the branches, edges "
    "included") {
    const char *given = std::getenv("LONGWAVE_BRANCH_SETS");
    const unsigned count = given ? static_cast<unsigned>(std::atoi(given)) : 24;
    constexpr unsigned at_once = 50; // outputs of one artifact
    double worst = 0;
    size_t compared = 0, copies = 0, centred = 0, two_sided = 0;
    for (unsigned first = 1; first <= count; first += at_once) {
        const unsigned n = std::min(at_once, count + 1 - first);
        const Sets apart = sets_of(first, n, true), together = sets_of(first, n, false);
        auto merged = compiler::merge_branches(together.graph);
        REQUIRE_MESSAGE(merged, merged.status().message());
        merged = compiler::fold_norms(*merged);
        REQUIRE_MESSAGE(merged, merged.status().message());
        CHECK(convolutions_in(*merged) == together.all.size());
        CHECK(convolutions_in(apart.graph) > together.all.size());
        const cli::Model branches = model_of(apart.graph), fused = model_of(*merged);
        for (const uint32_t length : {1u, 2u, 9u, rows}) { // shorter than kernels, and longer
            const cli::Sequence x =
                sequence_of(random_numbers(size_t{length} * channels, first + length), channels);
            const Outputs expected = outputs_of_run(branches, x), found = outputs_of_run(fused, x);
            REQUIRE(found.size() == together.all.size());
            for (size_t i = 0; i < found.size(); ++i) {
                INFO(together.all[i].text() << length << " rows");
                const double error = distance(found[i], expected[i]);
                CHECK(error <= limit);
                worst = std::max(worst, error);
                compared++;
            }
        }
        for (const BranchSet &set : together.all) {
            copies += set.copies() > 1;
            centred += set.centred();
            two_sided += set.two_sided();
        }
    }
    MESSAGE(compared << " outputs, within " << worst << "; sets of several copies " << copies << ", centred "
                     << centred << ", with two-sided kernels " << two_sided);
    for (const size_t kind : {copies, centred, two_sided}) CHECK(kind >= count / 10);
}

} // namespace branch_sets_test
