#include "compiler/ops/support/initial.h"
#include <algorithm>

namespace longwave::ir {

Status initial_on_host(const KernelCall &call) {
    if (&call.context.device == &devices::host()) return Status::ok();
    return Status::input("begins with a state that is not zero, which only runs and streams of the CPU do");
}

const Node *past_of(const Graph &graph, const Node &node) {
    const Node *made = node.inputs.empty() ? nullptr : graph.producer(node.inputs[0]);
    return made && made->op->past ? made : nullptr;
}

bool looks_back_on_past(const Graph &graph, const Node &node) {
    if (!past_of(graph, node)) return false;
    std::vector<Type> types;
    for (const ValueId id : node.inputs) types.push_back(graph.type(id));
    return node.op->stream(node, types).history > 0;
}

std::vector<double> rows_before(const Graph &graph, const Node &past, size_t rows) {
    const Constant &given = *graph.constant(past.inputs[past.op->past]);
    const size_t width = graph.type(past.output).width(), there = given.data.size() / width;
    const size_t copied = std::min(rows, there);
    std::vector<double> found(rows * width);
    for (size_t i = 0; i < copied * width; ++i) found[(rows - copied) * width + i] = given.data[(there - copied) * width + i];
    return found;
}

} // namespace longwave::ir
