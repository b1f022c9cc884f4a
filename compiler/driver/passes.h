// Runs the steps of a compile: each pass is verified, and dumped or timed when the options ask for
// it.
#pragma once
#include "compiler/driver/compile.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/plan_memory.h"
#include <chrono>
#include <fmt/format.h>
#include <ostream>

namespace longwave::compiler {

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

} // namespace longwave::compiler
