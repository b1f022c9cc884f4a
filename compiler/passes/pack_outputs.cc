#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"

namespace longwave::compiler {

namespace {

bool has_gaps(const ir::Type &type) {
    return type.dims.size() > 1 && type.physical(type.width() - 1) + 1 != type.width();
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
        if (has_gaps(graph.type(output.value))) {
            LW_ASSIGN(value, ir::make_plain_row(to, value, output.name));
        }
        to.output(output.name, value);
    }
    for (const auto &certificate : graph.certificates) to.certificate(certificate);
    return std::move(to).take();
}

} // namespace longwave::compiler
