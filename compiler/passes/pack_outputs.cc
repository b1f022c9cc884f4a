#include "compiler/passes/pack_outputs.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/op.h"

namespace longwave::compiler {

namespace {

bool has_gaps(const ir::Type &type) { return type.dims.size() > 1 && type.physical(type.width() - 1) + 1 != type.width(); }

std::vector<double> identity(uint32_t n) {
    std::vector<double> matrix(size_t(n) * n, 0.0);
    for (uint32_t i = 0; i < n; i++) matrix[size_t(i) * n + i] = 1.0;
    return matrix;
}

} // namespace

Expected<ir::Graph> pack_outputs(const ir::Graph &graph) {
    ir::Builder to(graph.name);
    std::vector<ir::ValueId> mapped(graph.values.size());
    for (ir::ValueId v = 0; v < graph.values.size(); v++) {
        if (const auto *constant = graph.constant(v)) mapped[v] = to.constant(*constant, graph.type(v));
        else if (const auto *node = graph.producer(v)) {
            std::vector<ir::ValueId> inputs;
            for (auto input : node->inputs) inputs.push_back(mapped[input]);
            LW_ASSIGN(mapped[v], to.node(node->op->name, std::move(inputs), node->attributes, node->layer));
        } else {
            mapped[v] = to.input(graph.inputs[graph.values[v].index], graph.type(v));
        }
    }
    for (const auto &output : graph.outputs) {
        ir::ValueId value = mapped[output.value];
        if (uint32_t width = graph.type(output.value).width(); has_gaps(graph.type(output.value))) {
            auto matrix = to.constant("identity", {width, width}, identity(width));
            LW_ASSIGN(value, to.node("linear", {value, matrix}, {{"bias", int64_t{0}}}, output.name));
        }
        to.output(output.name, value);
    }
    for (const auto &certificate : graph.certificates) to.certificate(certificate);
    return std::move(to).take();
}

} // namespace longwave::compiler
