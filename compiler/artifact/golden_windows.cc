#include "compiler/artifact/golden_windows.h"
#include "compiler/artifact/golden.h"
#include "compiler/plan/windowed_stream.h"
#include <algorithm>

namespace longwave::compiler {

namespace {

// The windows from whose first rows the golden rows of an output come. A float64 reference of a
// whole window may take a minute (kernels of 16,000 taps), so long windows get one, short ones up
// to four.
struct Firings {
    uint32_t first = 0, end = 1;
    bool holds(uint32_t firing) const { return first <= firing && firing < end; }
};

// Rows of the output before its row 0: start-up, which no stream shows.
uint32_t start_up(const OutputPort &port) {
    return static_cast<uint32_t>(uint64_t{port.delay} * port.clock_num / port.clock_den);
}

// The firing behind which the window holds no zeros of before the stream.
uint32_t full_firing(const EntryPlan &plan) { return (plan.window + plan.block - 1) / plan.block - 1; }

Firings firings_of(const EntryPlan &plan, const OutputPort &port, bool full) {
    if (full) return {full_firing(plan), full_firing(plan) + 1};
    const uint32_t first = start_up(port) / port.rows;
    return {first, first + std::clamp(16384 / plan.window, 1u, 4u)};
}

// The window that ends behind hop `firing`: zeros where the stream had not begun.
std::map<std::string, ir::Array> window_of(const EntryPlan &plan,
                                           const std::map<std::string, ir::Array> &inputs, uint32_t firing) {
    const size_t end = (size_t{firing} + 1) * plan.block, filled = std::min<size_t>(end, plan.window);
    std::map<std::string, ir::Array> window;
    for (const auto &[name, from] : inputs) {
        ir::Array array{.rows = plan.window, .width = from.width, .data = {}};
        array.data.resize(array.rows * array.width);
        std::copy(from.row(end - filled), from.row(end), array.row(plan.window - filled));
        window.emplace(name, std::move(array));
    }
    return window;
}

} // namespace

uint32_t ticks_of_windows(const EntryPlan &plan, bool full) {
    uint32_t firings = 1;
    for (const OutputPort &port : plan.outputs)
        firings = std::max(firings, firings_of(plan, port, false).end);
    if (!full) return firings * plan.block;
    return full_firing(plan) < firings ? 0 : (full_firing(plan) + 1) * plan.block;
}

uint32_t first_row_of_full_window(const EntryPlan &plan, const OutputPort &port) {
    return full_firing(plan) * port.rows - start_up(port);
}

Expected<std::vector<ir::Array>> GoldenVectors::slide(const ir::Graph &graph, const EntryPlan &plan,
                                                      const Inputs &inputs, bool full) {
    std::vector<ir::Array> rows(plan.outputs.size());
    const uint32_t firings = ticks_of_windows(plan, full) / plan.block;
    for (uint32_t firing = 0; firing < firings; firing++) {
        const auto brings = [&](const OutputPort &port) {
            return firings_of(plan, port, full).holds(firing);
        };
        if (std::none_of(plan.outputs.begin(), plan.outputs.end(), brings)) continue;
        Reference window;
        LW_TRY(evaluate(graph, plan, plan.window, window_of(plan, inputs, firing), window));
        for (size_t i = 0; i < rows.size(); i++) {
            const OutputPort &port = plan.outputs[i];
            if (!brings(port)) continue;
            const uint32_t row = firing * port.rows, shown = std::max(row, start_up(port)) - row;
            const uint32_t first =
                rows_in_window(graph.type(graph.outputs[i].value).clock, plan.window, plan.block).first;
            const ir::Array &from = window.outputs[i];
            rows[i].width = from.width;
            rows[i].rows += port.rows - shown;
            rows[i].data.insert(rows[i].data.end(), from.row(first + shown), from.row(first + port.rows));
        }
    }
    return rows;
}

} // namespace longwave::compiler
