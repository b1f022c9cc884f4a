// From a package to the graphs that are planned: lowering and all rewrites.
#pragma once
#include "compiler/artifact/identity.h"
#include "compiler/driver/check_options.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/passes.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/plan_memory.h"
#include <chrono>
#include <fmt/format.h>
#include <ostream>

namespace longwave::compiler {

// Runs the steps of a compile: each pass is verified, and dumped or timed when the options ask for
// it.

// Runs passes in order. After each: verified, dumped and timed on request.
class Passes {
public:
    explicit Passes(const Options &options) : options_(options) {}

    // Runs any step, timed on request.
    template <class Step> auto timed(const char *name, Step &&step) {
        const auto start = std::chrono::steady_clock::now();
        auto result = step();
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        if (options_.dump && options_.timings)
            *options_.dump << fmt::format("{:<20} {:8.2f} ms\n", name, took.count());
        return result;
    }
    template <class Pass> Expected<ir::Graph> run(const char *name, Pass &&pass) {
        LW_ASSIGN(ir::Graph graph, timed(name, [&]() -> Expected<ir::Graph> {
                      auto made = pass();
                      if (made) LW_TRY(ir::verify(*made));
                      return made;
                  }));
        known_ = known_ || options_.dump_after == name;
        if (options_.dump && options_.dump_after == name) *options_.dump << ir::print(graph);
        return graph;
    }
    void dump_plan(const char *name, const EntryPlan &plan) {
        known_ = known_ || options_.dump_after == name;
        if (options_.dump && options_.dump_after == name) *options_.dump << print(plan);
    }
    Status check_dump_name() const {
        if (options_.dump_after.empty() || known_) return Status::ok();
        return Status::usage(fmt::format(
            "--dump-after {}: expected lower, fold_constants, "
            "materialise_kernels, separate_channels, merge_branches, "
            "fold_norms, merge_chains, merge_products, split_lone, order_elements, balance_inputs, "
            "store_weights, pack_outputs, make_streaming or plan_memory",
            options_.dump_after));
    }

private:
    const Options &options_;
    bool known_ = false;
};

struct ModelGraphs {
    StateIdentity identity;
    ir::Graph offline;
    ir::Graph stream;      // of the same model; empty: it has no stream
    ir::Graph exact;       // where weights were rounded: `offline` with the weights of the package
    bool streams = false;  // there is a stream to plan
    std::string no_stream; // why the model cannot stream; empty when it can or was not asked
    uint32_t capacity = 0; // input ticks of an offline run
    std::vector<StoredWeights> stored; // what rounding weights costs, per layer
};

// Takes the weights out of the package as soon as constants hold them. Errors: as lower and the
// passes; Fault::usage for a window or a stream that the model cannot have.
Expected<ModelGraphs> make_graphs(Passes &passes, package::Package &package, const Request &request,
                                  const Options &options);

} // namespace longwave::compiler
