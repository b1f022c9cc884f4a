#include "compiler/passes/settle.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/reference.h"
#include "compiler/passes/make_streaming.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

ir::StreamRule rule_of(const ir::Graph &graph, const ir::Node &node) {
    std::vector<ir::Type> types;
    for (const ir::ValueId v : node.inputs) types.push_back(graph.type(v));
    return node.op->stream(node, types);
}

Status check(const ir::Graph &graph, uint32_t ticks) {
    const uint32_t natural = natural_block(graph);
    if (ticks % natural != 0)
        return Status::input(fmt::format("initial.settle: expected a multiple of {} rows, the hop of the model, found {}", natural, ticks));
    for (const ir::Node &node : graph.nodes) {
        const ir::StreamRule rule = rule_of(graph, node);
        if (!rule.looks_ahead.empty() || rule.ahead > 0)
            return Status::input(fmt::format("initial: layer {} looks ahead, and a state before the first row has no meaning there: {}",
                                             node.layer, rule.looks_ahead));
        if (!rule.carries.empty() && !node.op->begun)
            return Status::input(fmt::format("initial: layer {}: op {} always begins with zeros; remove \"initial\"", node.layer, node.op->name));
    }
    return Status::ok();
}

// Rows of each value that some op looks back on.
std::vector<uint32_t> histories(const ir::Graph &graph) {
    std::vector<uint32_t> found(graph.values.size());
    for (const ir::Node &node : graph.nodes)
        if (!node.inputs.empty()) {
            uint32_t &rows = found[node.inputs[0]];
            rows = std::max(rows, rule_of(graph, node).history);
        }
    return found;
}

class Settling {
public:
    Settling(const ir::Graph &graph, std::vector<ir::Array> values)
        : graph_(graph), values_(std::move(values)), histories_(histories(graph)) {}

    Expected<ir::ValueId> rewrite(ir::Rewriter &to, const ir::Node &node) {
        const ir::StreamRule rule = rule_of(graph_, node);
        if (!rule.carries.empty()) return begun(to, node);
        if (rule.history == 0) return to.keep(node);
        const ir::ValueId x = node.inputs[0], was = to.map(x);
        LW_ASSIGN(const ir::ValueId with_past, past(to, x, node.layer));
        to.redirect(x, with_past);
        auto kept = to.keep(node);
        to.redirect(x, was); // other readers do not look back
        return kept;
    }

private:
    Expected<ir::ValueId> begun(ir::Rewriter &to, const ir::Node &node) {
        std::vector<ir::Operand> inputs;
        for (const ir::ValueId v : node.inputs) {
            if (const ir::Constant *constant = graph_.constant(v)) inputs.emplace_back(*constant);
            else inputs.emplace_back(values_[v]);
        }
        std::vector<const ir::Operand *> operands;
        for (const ir::Operand &input : inputs) operands.push_back(&input);
        return node.op->begun(to, node, operands, values_[node.output]);
    }

    // One for all readers that look back.
    Expected<ir::ValueId> past(ir::Rewriter &to, ir::ValueId v, const std::string &layer) {
        if (const auto made = pasts_.find(v); made != pasts_.end()) return made->second;
        const ir::Array &rows = values_[v];
        const auto count = std::min<size_t>(histories_[v], rows.rows);
        std::vector<double> last(rows.data.end() - static_cast<ptrdiff_t>(count * rows.width), rows.data.end());
        const ir::ValueId constant =
            to.to().constant(fmt::format("{}.past {}", layer, v), {static_cast<uint32_t>(count), static_cast<uint32_t>(rows.width)}, std::move(last));
        LW_ASSIGN(const ir::ValueId made, to.to().node("past", {to.map(v), constant}, {}, layer));
        pasts_[v] = made;
        return made;
    }

    const ir::Graph &graph_;
    const std::vector<ir::Array> values_;
    const std::vector<uint32_t> histories_;
    std::map<ir::ValueId, ir::ValueId> pasts_;
};

} // namespace

Expected<ir::Graph> settle(const ir::Graph &graph, uint32_t ticks, double value) {
    LW_TRY(check(graph, ticks));
    std::map<std::string, ir::Array> inputs;
    for (const ir::GraphInput &input : graph.inputs) {
        const size_t width = graph.type(input.value).width();
        inputs[input.name] = {ticks, width, std::vector<double>(ticks * width, value)};
    }
    LW_ASSIGN(std::vector<ir::Array> values, ir::evaluate_all(graph, inputs));
    Settling settling(graph, std::move(values));
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &to, const ir::Node &node) { return settling.rewrite(to, node); });
}

} // namespace longwave::compiler
