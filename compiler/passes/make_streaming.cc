#include "compiler/passes/make_streaming.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/op.h"
#include <fmt/format.h>
#include <numeric>

namespace longwave::compiler {

namespace {

std::vector<ir::Type> input_types(const ir::Graph &graph, const ir::Node &node) {
    std::vector<ir::Type> types;
    for (auto v : node.inputs) types.push_back(graph.type(v));
    return types;
}

bool timed(const ir::Graph &graph, ir::ValueId v) { return graph.values[v].kind != ir::Value::Kind::constant && !graph.type(v).clock.timeless(); }

// Every layer that looks ahead is listed at once.
Status refuse_looking_ahead(const ir::Graph &graph) {
    std::string message;
    for (const auto &node : graph.nodes) {
        auto types = input_types(graph, node);
        auto rule = node.op->stream(node, types);
        if (rule.kind != ir::StreamRule::Kind::looks_ahead) continue;
        if (!message.empty()) message += '\n';
        message += fmt::format("layer {} looks ahead: {}", node.layer, rule.reason);
    }
    if (message.empty()) return Status::ok();
    return Status::usage(message + "\ncompile without --stream for whole sequences");
}

} // namespace

Expected<ir::Graph> make_streaming(const ir::Graph &graph) {
    LW_TRY(refuse_looking_ahead(graph));
    ir::Rewriter rewriter(graph);
    return rewriter.run([](ir::Rewriter &to, const ir::Node &node) -> Expected<ir::ValueId> {
        if (std::string(node.op->name) != "mean") return to.keep(node);
        const std::string &mode = node.text("mode");
        if (mode == "last") return to.map(node.inputs[0]); // the newest row is the last one so far
        return to.to().node("running_mean", {to.map(node.inputs[0])}, {{"mode", mode}}, node.layer);
    });
}

uint32_t natural_block(const ir::Graph &graph) {
    uint32_t block = 1;
    for (ir::ValueId v = 0; v < graph.values.size(); v++)
        if (timed(graph, v)) block = std::lcm(block, graph.type(v).clock.den);
    return block;
}

Expected<Pace> pace_of(ir::Clock clock, uint32_t block) {
    if (clock.timeless()) return Status::internal("a value of a stream has no clock");
    uint64_t ticks = uint64_t(block) * clock.num;
    if (ticks % clock.den == 0) return Pace{static_cast<uint32_t>(ticks / clock.den), 1, 0};
    if (clock.den % ticks == 0) {
        uint32_t period = static_cast<uint32_t>(clock.den / ticks);
        return Pace{1, period, period - 1};
    }
    return Status::usage(fmt::format("a block of {} input ticks cuts a hop of {}/{}", block, clock.den, clock.num));
}

Status check_block(const ir::Graph &graph, uint32_t block) {
    if (block == 0 || block > (1u << 20)) return Status::usage(fmt::format("--block {}: expected 1 to {}", block, 1u << 20));
    for (ir::ValueId v = 0; v < graph.values.size(); v++) {
        if (!timed(graph, v)) continue;
        if (auto pace = pace_of(graph.type(v).clock, block); !pace)
            return Status::usage(
                fmt::format("--block {}: {}; the natural block of this model is {} (its divisors that keep whole hops, and its multiples, fit)",
                            block, pace.status().message(), natural_block(graph)));
    }
    return Status::ok();
}

} // namespace longwave::compiler
