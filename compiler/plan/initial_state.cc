#include "compiler/plan/initial_state.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/initial.h"

namespace longwave::compiler {

Step copied_step(BufferId from, const Place &to, uint64_t bytes, const std::string &name) {
    constexpr uint64_t line = 64, number = 4; // bytes
    const bool lines = to.offset % line == 0 && bytes % line == 0; // else rows of one may start anywhere
    const auto width = static_cast<int64_t>(lines ? line / number : 1);
    Step step{.name = name + " begin"};
    step.spec = ir::kernel_spec("pointwise", {{"width", width}, {"rows", static_cast<int64_t>(bytes / number) / width}});
    step.args.emplace_back(Place{.buffer = from});
    step.args.emplace_back(to);
    return step;
}

Packed packed_past(const ir::Graph &graph, const ir::Node &past, uint32_t there, uint32_t rows) {
    const ir::Type &type = graph.type(past.output);
    const std::vector<double> given = ir::rows_before(graph, past, there);
    std::vector<float> packed(size_t{rows} * type.row(), 0.f);
    for (uint32_t r = 0; r < there; r++)
        for (uint32_t i = 0; i < type.width(); i++)
            packed[size_t{rows - there + r} * type.row() + type.physical(i)] =
                static_cast<float>(given[size_t{r} * type.width() + i]);
    return Packed::f32({rows, type.row()}, std::move(packed));
}

} // namespace longwave::compiler
