#include "tests/support/compiled_graph.h"
#include "compiler/codegen/code.h"
#include "compiler/artifact/emit.h"
#include "compiler/passes/pack_outputs.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/stream_family.h"

namespace longwave::test {

Expected<std::vector<uint8_t>> compile_graph(const ir::Graph &given, uint32_t rows,
                                             const compiler::Options &options) {
    using namespace compiler;
    LW_ASSIGN(const ir::Graph graph, pack_outputs(given));
    std::vector<targets::Target> targets;
    for (const std::string &name : options.targets) targets.push_back(*targets::find(name));

    Storage storage;
    StateRecord record;
    EntryPlanner planner(graph, {.block = rows}, storage, record);
    LW_TRY(planner.survey());
    LW_ASSIGN(EntryPlan run, planner.plan({}));
    std::vector<EntryPlan> entries = {std::move(run)};
    if (EntryPlan &prepare = storage.prepare(); !prepare.steps.empty()) {
        measure_lifetimes(prepare);
        entries.insert(entries.begin(), prepare);
    }
    for (EntryPlan &entry : entries) plan_memory(entry);

    const Specs specs = unique_specs(entries);
    LW_ASSIGN(Code code, compile_code(specs, entries, targets,
                                      {.kgen = options.kgen, .folder = options.cache, .jobs = options.jobs}));
    package::Package package;
    package.name = graph.name;
    for (const ir::GraphInput &input : graph.inputs)
        package.inputs.push_back({.name = input.name,
                                  .kind = package::Input::Kind::features,
                                  .width = graph.type(input.value).width()});
    return emit({package,
                 std::move(storage),
                 record,
                 entries,
                 specs.all,
                 code.signatures,
                 std::move(code.targets),
                 {},
                 {},
                 {},
                 "{}",
                 "[]",
                 {}});
}

} // namespace longwave::test
