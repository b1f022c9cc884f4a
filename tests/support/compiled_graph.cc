#include "tests/support/compiled_graph.h"
#include "compiler/artifact/emit.h"
#include "compiler/codegen/code.h"
#include "compiler/codegen/spirv_modules.h"
#include "compiler/devices/traits.h"
#include "compiler/driver/check_options.h"
#include "compiler/passes/passes.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/stream_family.h"

namespace longwave::test {

Expected<std::vector<uint8_t>> compile_graph(const ir::Graph &given, uint32_t rows,
                                             const compiler::Options &options) {
    using namespace compiler;
    LW_ASSIGN(const ir::Graph graph, pack_outputs(given));
    LW_ASSIGN(const Targets targets, find_targets(options.targets, *options.devices));

    Storage storage;
    StateRecord record;
    std::vector<EntryPlan> entries;
    for (const devices::Traits *device : {&devices::host(), targets.device}) {
        if (!device) continue;
        EntryPlanner planner(graph, {.block = rows, .device = device}, storage, record);
        LW_TRY(planner.survey());
        LW_ASSIGN(EntryPlan run, planner.plan({}));
        entries.push_back(std::move(run));
    }
    if (EntryPlan &prepare = storage.prepare(); !prepare.steps.empty()) {
        measure_lifetimes(prepare);
        entries.insert(entries.begin(), prepare);
    }
    for (EntryPlan &entry : entries) plan_memory(entry);

    const Specs specs = unique_specs(entries);
    const KernelCacheOptions kernels{.kgen = options.kgen, .folder = options.cache, .jobs = options.jobs};
    LW_ASSIGN(Code code, compile_code(specs, entries, targets.cpus, kernels));
    if (targets.device)
        LW_TRY(compile_modules(specs, entries, storage, *targets.device,
                               {options.gpu_chained_bytes, options.gpu_variants}, kernels, code));
    package::Package package;
    package.name = graph.name;
    for (const ir::GraphInput &input : graph.inputs)
        package.inputs.push_back({.name = input.name,
                                  .kind = package::Input::Kind::features,
                                  .width = graph.type(input.value).width()});
    LW_ASSIGN(artifact::Pieces pieces, emit({package,
                                             std::move(storage),
                                             record,
                                             entries,
                                             specs.all,
                                             code.signatures,
                                             specs.for_streams,
                                             std::move(code.targets),
                                             std::move(code.modules),
                                             {},
                                             {},
                                             {},
                                             "{}",
                                             "[]",
                                             {}}));
    return std::move(pieces).join();
}

} // namespace longwave::test
