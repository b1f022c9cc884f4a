#include "compiler/passes/make_streaming.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace longwave::compiler {

namespace {

constexpr uint32_t largest_block = 1u << 20;

std::vector<ir::Type> input_types(const ir::Graph &graph, const ir::Node &node) {
    std::vector<ir::Type> types;
    for (auto v : node.inputs) types.push_back(graph.type(v));
    return types;
}

bool timed(const ir::Graph &graph, ir::ValueId v) {
    return graph.values[v].kind != ir::Value::Kind::constant && !graph.type(v).clock.timeless();
}

// Every layer that looks ahead is listed at once.
Status refuse_looking_ahead(const ir::Graph &graph) {
    std::string message;
    for (const auto &node : graph.nodes) {
        auto types = input_types(graph, node);
        auto rule = node.op->stream(node, types);
        if (rule.looks_ahead.empty()) continue;
        const std::string line = fmt::format("layer {} looks ahead: {}\n", node.layer, rule.looks_ahead);
        if (message.find(line) == message.npos) message += line; // of several ops of one layer
    }
    if (message.empty()) return Status::ok();
    return Status::usage(message + "compile without --stream for offline runs, or with --window N --hop M "
                                   "to slide over a stream");
}

} // namespace

Expected<ir::Graph> make_streaming(const ir::Graph &graph) {
    LW_TRY(refuse_looking_ahead(graph));
    ir::Rewriter rewriter(graph);
    return rewriter.run([](ir::Rewriter &to, const ir::Node &node) -> Expected<ir::ValueId> {
        return node.op->streamed ? node.op->streamed(to, node) : to.keep(node);
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
    return Status::usage(
        fmt::format("a block of {} input ticks cuts a hop of {}/{}", block, clock.den, clock.num));
}

Status check_blocks(const ir::Graph &graph, const std::vector<uint32_t> &blocks) {
    const uint32_t smallest = *std::min_element(blocks.begin(), blocks.end());
    for (uint32_t block : blocks) {
        if (block == 0 || block > largest_block)
            return Status::usage(
                fmt::format("a block of {} input ticks: expected 1 to {}", block, largest_block));
        if (std::count(blocks.begin(), blocks.end(), block) > 1)
            return Status::usage(fmt::format("a block of {} input ticks is asked for twice", block));
        if (block % smallest)
            return Status::usage(fmt::format(
                "blocks {} and {}: every block must be a multiple of the smallest, so that any can take "
                "the stream over from any other",
                smallest, block));
        for (ir::ValueId v = 0; v < graph.values.size(); v++) {
            if (!timed(graph, v)) continue;
            if (auto pace = pace_of(graph.type(v).clock, block); !pace)
                return Status::usage(fmt::format(
                    "{}; the natural block of this model is {} (its divisors that keep whole hops, "
                    "and its multiples, fit)",
                    pace.status().message(), natural_block(graph)));
        }
    }
    return Status::ok();
}

} // namespace longwave::compiler
