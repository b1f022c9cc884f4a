#include "compiler/plan/stream_family.h"
#include "compiler/ir/op.h"
#include "compiler/plan/entry_plan.h"
#include "formats/artifact/rules.h"
#include "schedules/contract/kernels/conv.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace longwave::compiler {

namespace {

// How the state names the history of a value: by the first op that needs it, so that a change of
// what computes the value changes no name. Inputs that no op looks back on only hold pending
// samples.
std::pair<std::string, std::string> field_name(const ir::Graph &graph, ir::ValueId value,
                                               const Demand &demand, std::set<std::string> &taken) {
    const ir::Node *node = graph.producer(value);
    const bool needed = !demand.name.empty();
    const std::string layer = needed ? demand.layer
                              : node ? node->layer
                                     : "input " + graph.inputs[graph.values[value].index].name;
    std::string name = needed ? demand.name : node ? node->op->name : "samples", full = name;
    for (int i = 2; !taken.insert(fmt::format("{}/{}", layer, full)).second; i++)
        full = fmt::format("{} {}", name, i);
    return {layer, full};
}

// An algorithm for streams alone is one that keeps the past in a form of its own. check_caches makes sure.
bool has_caches(const EntryPlanner &planner) {
    const std::vector<AlgorithmReport> &all = planner.algorithms();
    return std::any_of(all.begin(), all.end(), [](const AlgorithmReport &report) {
        return report.choice.algorithm && report.choice.algorithm->offline == devices::no_kernels;
    });
}

// What all entries together want of the ring of a value.
struct Wanted {
    bool ring = false;
    uint32_t history = 0, rows = 1;
    uint64_t multiple = 1;
    Demand saved;          // needs, keeps and name
    bool rebuilds = false; // several entries, and caches that the runtime rebuilds from the ring
    bool by_channel = true;

    // What it holds. Pushed samples may run ahead by a block while the runtime rebuilds caches from the
    // rows before the last complete block.
    uint64_t needed() const { return uint64_t{history} + (rebuilds && history > 0 ? 2 : 1) * uint64_t{rows}; }
    // In whole blocks of every entry.
    uint64_t ring_rows() const { return (needed() + multiple - 1) / multiple * multiple; }
    // The slots that repeat the first rows: a block may be read from any slot of the ring on. Every entry
    // repeats whole blocks, and the last of them may reach further.
    uint64_t slots_again() const {
        return std::min(ring_rows(), uint64_t{rows} * (multiple == rows ? 1 : 2));
    }
};

// The least common multiple, as far as any memory reaches.
uint64_t common_multiple(uint64_t a, uint64_t b) {
    constexpr uint64_t most = uint64_t{1} << 40;
    return std::min(most, a / std::gcd(a, b) * b);
}

using Planners = std::vector<const EntryPlanner *>;

Wanted wanted_of(const ir::Graph &graph, const Planners &planners, ir::ValueId v) {
    // Pushed samples wait in the ring of their input until a block is complete.
    Wanted wanted{.ring = graph.values[v].kind == ir::Value::Kind::input};
    for (const EntryPlanner *entry : planners) {
        const EntryPlanner &planner = *entry;
        wanted.rebuilds = wanted.rebuilds || (planners.size() > 1 && has_caches(planner));
        const Demand &d = planner.demands()[v];
        wanted.ring = wanted.ring || round_up(d.history + d.rows, d.multiple) > planner.rows_of(v);
        wanted.history = std::max(wanted.history, d.history);
        wanted.rows = std::max(wanted.rows, d.rows);
        wanted.multiple = common_multiple(wanted.multiple, d.multiple);
        wanted.by_channel = wanted.by_channel && planner.can_keep_channels(v);
        wanted.saved.needs = std::max(wanted.saved.needs, d.needs);
        wanted.saved.keeps = std::max(wanted.saved.keeps, d.keeps);
        if (wanted.saved.name.empty()) wanted.saved.layer = d.layer, wanted.saved.name = d.name;
    }
    constexpr uint32_t worth = schedules::contract::NarrowConv::least_rows; // rows of the largest block
    wanted.by_channel = wanted.by_channel && wanted.rows >= worth;
    return wanted;
}

// The rings of inputs, and of values of which any entry needs rows from before its own block.
std::vector<Ring> lay_out_rings(const ir::Graph &graph, const Planners &planners, StateRecord &record) {
    std::vector<Ring> rings(graph.values.size());
    std::set<std::string> taken;
    for (ir::ValueId v = 0; v < graph.values.size(); v++) {
        if (graph.constant(v) || !planners[0]->stores(v)) continue;
        const Wanted wanted = wanted_of(graph, planners, v);
        if (!wanted.ring) continue;
        const ir::Type &type = graph.type(v);
        const auto [layer, name] = field_name(graph, v, wanted.saved, taken);
        rings[v].rows = static_cast<uint32_t>(wanted.ring_rows()); // check_rings
        StateField field{.layer = layer,
                         .name = name,
                         .elem = type.elem,
                         .dims = {rings[v].rows, type.row()},
                         .clock = type.clock,
                         .needs = wanted.saved.needs,
                         .keeps = wanted.saved.keeps};
        if (wanted.by_channel) {
            rings[v].again = static_cast<uint32_t>(wanted.slots_again());
            field.dims = {type.width(), rings[v].rows + rings[v].again};
            field.ring = rings[v].rows;
            field.row = type.row();
        }
        rings[v].field = record.history(std::move(field));
    }
    return rings;
}

// Bytes of all rings, and what they would take without whole blocks.
struct RingBytes {
    uint64_t taken = 0, needed = 0;
    bool fit() const {
        constexpr uint64_t factor = 4, always = 4 << 20;
        return taken <= factor * needed + always;
    }
};

RingBytes ring_bytes(const ir::Graph &graph, const Planners &planners) {
    RingBytes bytes;
    for (ir::ValueId v = 0; v < graph.values.size(); v++) {
        if (graph.constant(v) || !planners[0]->stores(v)) continue;
        const Wanted wanted = wanted_of(graph, planners, v);
        if (!wanted.ring) continue;
        const ir::Type &type = graph.type(v);
        const uint64_t row = uint64_t{type.row()} * bytes_of(type.elem);
        bytes.taken += wanted.ring_rows() * row;
        bytes.needed += wanted.needed() * row;
    }
    return bytes;
}

std::string megabytes(uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

// A ring is a whole number of blocks of every entry. Blocks without small common multiples would make
// it longer than any memory.
Status check_rings(const ir::Graph &graph, const Planners &planners, const std::vector<uint32_t> &blocks) {
    const RingBytes all = ring_bytes(graph, planners);
    if (all.fit()) return Status::ok();
    const std::string size =
        fmt::format("--blocks {}: the state of a stream takes {} where {} would do, because its rings hold "
                    "whole blocks of every entry",
                    fmt::join(blocks, ","), megabytes(all.taken), megabytes(all.needed));
    if (blocks.size() == 1)
        return Status::usage(
            fmt::format("{}, and whole hops of every layer: choose a shorter or a rounder block", size));
    std::vector<uint32_t> together, others;
    for (const uint32_t block : blocks) {
        together.push_back(block);
        Planners some;
        for (size_t i = 0; i < planners.size(); i++)
            if (std::count(together.begin(), together.end(), blocks[i % blocks.size()]))
                some.push_back(planners[i]);
        if (ring_bytes(graph, some).fit()) continue;
        together.pop_back();
        others.push_back(block);
    }
    return Status::usage(fmt::format("{}. {} does not go with {}: compile it into another file, or choose "
                                     "blocks of which each divides the next",
                                     size, fmt::join(others, ","), fmt::join(together, ",")));
}

// The steps of an entry fire in turns. Rows of coprime hops come together after very many blocks only.
Status check_period(const EntryPlan &entry, uint32_t natural) {
    uint64_t period = 1;
    for (const auto *steps : {&entry.steps, &entry.rebuild})
        for (const Step &step : *steps) period = common_multiple(period, step.period);
    for (const OutputPort &port : entry.outputs) period = common_multiple(period, port.period);
    if (period <= artifact::cap::period) return Status::ok();
    return Status::usage(fmt::format("--blocks {}: the hops of its layers meet every {} blocks (at most {}); "
                                     "choose a multiple of {}, or a "
                                     "larger part of it",
                                     entry.block, period, artifact::cap::period, natural));
}

// The rings of an entry without caches have no room for rebuilding any.
Status check_caches(const EntryPlan &entry, const EntryPlanner &planner) {
    if (has_caches(planner)) return Status::ok();
    for (const Buffer &buffer : entry.buffers)
        if (buffer.space == Space::cache)
            return Status(Fault::internal,
                          fmt::format("{}: the algorithm of {} has a cache, but offline runs have it too",
                                      entry.name(), buffer.name));
    return Status::ok();
}

} // namespace

Expected<StreamFamily> plan_streams(const ir::Graph &graph, const std::vector<uint32_t> &blocks,
                                    const std::string &convolution, Storage &storage,
                                    const costs::Tables &costs,
                                    const std::vector<const devices::Traits *> &devices,
                                    const StreamFamilyOptions &family_options) {
    StreamFamily family;
    std::vector<EntryPlanner> planners;
    const size_t entries = devices.size() * blocks.size();
    planners.reserve(entries);
    for (const devices::Traits *device : devices)
        for (uint32_t block : blocks) {
            const auto by_channel = family_options.channel_major.find(block);
            const bool has = device->keeps_channels && by_channel != family_options.channel_major.end();
            const EntryPlanner::Options options{.kind = EntryPlan::Kind::stream,
                                                .block = block,
                                                .convolution = convolution,
                                                .costs = &costs,
                                                .device = device,
                                                .channel_major = has ? by_channel->second : ChannelMajor(),
                                                .draft = family_options.draft};
            planners.emplace_back(graph, options, storage, family.record);
            LW_TRY(planners.back().survey());
        }
    Planners surveyed;
    for (const EntryPlanner &planner : planners) surveyed.push_back(&planner);
    LW_TRY(check_rings(graph, surveyed, blocks));
    const std::vector<Ring> rings = lay_out_rings(graph, surveyed, family.record);
    // Every planner has its part in the rings. A draft needs the calls of the last device alone.
    const size_t first = family_options.draft ? entries - blocks.size() : 0;
    for (size_t i = first; i < entries; i++) {
        EntryPlanner &planner = planners[i];
        LW_ASSIGN(EntryPlan entry, planner.plan(rings));
        LW_TRY(check_period(entry, natural_block(graph)));
        LW_TRY(check_caches(entry, planner));
        for (const AlgorithmReport &report : planner.algorithms())
            family.algorithms.emplace_back(entry.name(), report);
        family.refused.insert(planner.refused().begin(), planner.refused().end());
        family.entries.push_back(std::move(entry));
    }
    family.record.arrange();
    return family;
}

} // namespace longwave::compiler
