// Fixtures whose kinds are in the table, as graphs in float64: what layers become, and what the
// exact rewrites make of it, equal the references. No kernels, so limits are those of references
// stored in float32.
#include "compiler/ir/verify.h"
#include "compiler/layers/lower.h"
#include "compiler/ops/support/reference.h"
#include "compiler/passes/passes.h"
#include "tests/oracles/fixture.h"
#include "tests/oracles/kinds.h"
#include "tests/oracles/oracle_package.h"
#include "tests/oracles/trials.h"
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fstream>

namespace graphs_test {

using namespace longwave;
using namespace longwave::oracles;

namespace {

constexpr double limit = 2e-7; // references are rounded to float32: 6e-8 of the peak, and so may those be
                               // that they were computed beside

bool in_table(const std::string &path) {
    std::ifstream file(path);
    const nlohmann::json description = nlohmann::json::parse(file, nullptr, false);
    const std::string operation = description.value("operator", "");
    return std::any_of(kinds().begin(), kinds().end(),
                       [&](const Kind &kind) { return operation == kind.operation; });
}

Expected<ir::Graph> rewritten(const ir::Graph &lowered) {
    LW_ASSIGN(ir::Graph graph, compiler::fold_constants(lowered));
    LW_ASSIGN(graph, compiler::materialise_kernels(graph));
    LW_ASSIGN(graph, compiler::merge_branches(graph));
    LW_ASSIGN(graph, compiler::fold_norms(graph));
    LW_ASSIGN(graph, compiler::merge_chains(graph));
    LW_ASSIGN(graph, compiler::merge_products(graph));
    return compiler::split_lone(graph);
}

ir::Array rows_of(const cli::Sequence &sequence) {
    ir::Array x{sequence.rows, 0, {}};
    if (sequence.floats[0].empty()) x.data.assign(sequence.ids[0].begin(), sequence.ids[0].end());
    else x.data.assign(sequence.floats[0].begin(), sequence.floats[0].end());
    x.width = x.data.size() / x.rows;
    return x;
}

// Relative to the peak. Of two lists the shorter counts, from one end: a running mean has its last
// row in a whole sequence.
double error_of(const std::vector<double> &found, const std::vector<float> &reference,
                const Comparison &comparison) {
    const size_t n = std::min(found.size(), reference.size());
    const size_t f = comparison.leading ? 0 : found.size() - n,
                 r = comparison.leading ? 0 : reference.size() - n;
    double error = 0;
    for (size_t i = 0; i < n; ++i) error = std::max(error, std::abs(found[f + i] - double{reference[r + i]}));
    return error / comparison.peak;
}

void check(const ir::Graph &graph, const Trial &trial) {
    for (size_t s = 0; s < trial.sequences.size(); ++s) {
        const cli::Sequence &sequence = trial.sequences[s];
        const auto out = ir::evaluate(graph, {{graph.inputs[0].name, rows_of(sequence)}},
                                      sequence.lengths.empty() ? sequence.rows : sequence.lengths[0]);
        REQUIRE_MESSAGE(out, out.status().message());
        for (const Comparison &comparison : trial.comparisons) {
            const auto output =
                std::find_if(graph.outputs.begin(), graph.outputs.end(),
                             [&](const ir::GraphOutput &o) { return o.name == comparison.output; });
            REQUIRE(output != graph.outputs.end());
            const auto &found = (*out)[static_cast<size_t>(output - graph.outputs.begin())].data;
            INFO(comparison.what << ", sequence " << s);
            REQUIRE(!found.empty());
            CHECK(error_of(found, comparison.reference[s], comparison) <= limit);
        }
    }
}

} // namespace

TEST_CASE(
    "oracles: every fixture of a kind in the table equals its graph in float64, before and after rewrites") {
    const auto paths = find_fixtures(oracle_folder(), {});
    REQUIRE_MESSAGE(paths, paths.status().message());
    size_t taken = 0;
    for (const std::string &path : *paths) {
        if (!in_table(path)) continue;
        taken++;
        INFO(path);
        const auto trials = read_trials(path);
        REQUIRE_MESSAGE(trials, trials.status().message());
        REQUIRE(!trials->empty());
        for (const Trial &trial : *trials) {
            const auto package = package::parse(trial.model_json, trial.weights);
            REQUIRE_MESSAGE(package, package.status().message());
            const auto lowered = compiler::lower(*package);
            REQUIRE_MESSAGE(lowered, lowered.status().message());
            check(*lowered, trial);
            const auto made = rewritten(*lowered);
            REQUIRE_MESSAGE(made, made.status().message());
            const Status status = ir::verify(*made);
            REQUIRE_MESSAGE(status, status.message());
            check(*made, trial);
        }
    }
    CHECK(taken > 0);
}

} // namespace graphs_test
