#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/selection/selection.h"
#include "compiler/ops/support/late.h"
#include "compiler/passes/passes.h"
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

std::string name_of(const ir::Graph &graph, ir::ValueId v) {
    const ir::Node *node = graph.producer(v);
    return node ? "layer " + node->layer : "an input";
}

constexpr uint32_t longest_delay = 1u << 20; // of an output, in input ticks

constexpr const char *way_out =
    "compile without --stream for offline runs, or with --window N --hop M to slide "
    "over a stream";

void list(std::string &message, const std::string &line) {
    if (message.find(line) == message.npos) message += line; // of several ops of one layer
}

// Every layer that looks ahead, and has no form that waits, is listed at once.
Status refuse_looking_ahead(const ir::Graph &graph) {
    std::string message;
    for (const auto &node : graph.nodes) {
        auto types = input_types(graph, node);
        auto rule = node.op->stream(node, types);
        if (rule.looks_ahead.empty() || rule.ahead > 0) continue;
        list(message, fmt::format("layer {} looks ahead: {}\n", node.layer, rule.looks_ahead));
    }
    return message.empty() ? Status::ok() : Status::usage(message + way_out);
}

// What comes late begins with rows that do not count. A state must not take them in.
Status refuse_late_states(const ir::Graph &graph) {
    std::string message;
    for (const auto &node : graph.nodes) {
        const auto types = input_types(graph, node);
        const auto rule = node.op->stream(node, types);
        const bool remembers = rule.history > 0 || !rule.carries.empty();
        const uint32_t delay = graph.type(node.output).delay;
        if (delay > longest_delay)
            list(message, fmt::format("layer {} waits for {} input ticks in a stream: expected at most {}\n",
                                      node.layer, delay, longest_delay));
        if (!remembers || node.op->begins_late || types.empty() || types[0].delay == 0) continue;
        list(message,
             fmt::format("layer {} reads rows that come {} input ticks late, because a layer before it "
                         "looks ahead: op {} cannot begin late in a stream\n",
                         node.layer, types[0].delay, node.op->name));
    }
    return message.empty() ? Status::ok() : Status::usage(message + way_out);
}

// Gives all inputs of a node one delay: rows of the earlier ones wait.
class Waits {
public:
    Waits(ir::Rewriter &to, const ir::Graph &from, const ir::Node &node)
        : to_(to), from_(from), node_(node) {}

    Status add() {
        uint32_t delay = 0;
        for (const ir::ValueId v : node_.inputs) delay = std::max(delay, late(v).delay);
        const uint32_t ahead = node_.op->stream(node_, input_types(from_, node_)).ahead;
        if (delay == 0 && ahead == 0) return Status::ok();
        while (!fits(delay, ahead) && delay <= longest_delay) ++delay;
        if (delay > longest_delay) return Status::ok(); // refuse_late_states says so
        for (const ir::ValueId v : node_.inputs) {
            const ir::Type type = late(v);
            if (!timed(from_, v) || type.delay == delay) continue;
            const int64_t rows = int64_t{delay - type.delay} * type.clock.num / type.clock.den;
            kept_.emplace_back(v, to_.map(v));
            LW_ASSIGN(const ir::ValueId waits, ir::make_wait(to_.to(), to_.map(v), rows, node_.layer));
            to_.redirect(v, waits);
        }
        return Status::ok();
    }
    // Other readers need not wait.
    void undo() {
        for (const auto &[old, now] : kept_) to_.redirect(old, now);
    }

private:
    const ir::Type &late(ir::ValueId v) const { return to_.to().graph().type(to_.map(v)); }

    // Whole rows of every input, and of the result, which comes `ahead` rows of the first input
    // later.
    bool fits(uint32_t delay, uint32_t ahead) const {
        const auto whole = [](uint64_t ticks, ir::Clock clock) {
            return clock.timeless() || ticks * clock.num % clock.den == 0;
        };
        for (const ir::ValueId v : node_.inputs)
            if (timed(from_, v) && !whole(delay, from_.type(v).clock)) return false;
        const ir::Clock first = from_.type(node_.inputs[0]).clock;
        const uint64_t later =
            first.timeless() ? 0 : ir::ticks_of_rows(ir::in_whole_ticks(ahead, first), first);
        return whole(delay + later, from_.type(node_.output).clock);
    }

    ir::Rewriter &to_;
    const ir::Graph &from_;
    const ir::Node &node_;
    std::vector<std::pair<ir::ValueId, ir::ValueId>> kept_;
};

} // namespace

Expected<ir::Graph> make_streaming(const ir::Graph &graph) {
    LW_TRY(refuse_looking_ahead(graph));
    ir::Rewriter rewriter(graph);
    LW_ASSIGN(ir::Graph made,
              rewriter.run([&](ir::Rewriter &to, const ir::Node &node) -> Expected<ir::ValueId> {
                  Waits waits(to, graph, node);
                  LW_TRY(waits.add());
                  auto value = node.op->streamed ? node.op->streamed(to, node) : to.keep(node);
                  waits.undo();
                  return value;
              }));
    LW_TRY(refuse_late_states(made));
    return made;
}

uint32_t natural_block(const ir::Graph &graph) {
    uint32_t block = 1;
    for (ir::ValueId v = 0; v < graph.values.size(); v++)
        if (timed(graph, v)) block = std::lcm(block, std::lcm(graph.type(v).clock.den, graph.type(v).whole));
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
            if (const uint32_t whole = graph.type(v).whole; block % whole)
                return Status::usage(fmt::format("a block of {} input ticks cuts rows of {}, which come for "
                                                 "{} ticks together: take a multiple of {}",
                                                 block, name_of(graph, v), whole, natural_block(graph)));
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
