#include "compiler/plan/entry_planner.h"
#include "compiler/ir/op.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/planned_call.h"
#include "compiler/plan/transfers.h"
#include "formats/artifact/rules.h"
#include "schedules/contract/kernels/pointwise.h"
#include "schedules/contract/kernels/selection.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace longwave::compiler {

namespace contract = schedules::contract;

namespace {

// The rows a chain of pointwise ops alone is applied to.
void plain_copy(PlannedCall &call) {
    const ir::Type &x = call.type(0);
    call.kernel<contract::Pointwise>(
        {.width = x.row(), .rows = call.rows(), .channels = x.dims.back() == 1 ? x.width() : x.dims.back()},
        {.x = call.rows_of(0), .y = call.result_rows()});
}

} // namespace

std::string EntryPlan::name() const {
    static const char *const names[] = {"prepare", "run", "stream"};
    std::string text = names[static_cast<int>(kind)];
    if (kind == Kind::stream || one_of_several) text += fmt::format(" {}", block);
    return device->name.empty() ? text : fmt::format("{} on {}", text, device->name);
}

EntryPlanner::EntryPlanner(const ir::Graph &graph, Options options, Storage &storage, StateRecord &record)
    : graph_(graph), options_(std::move(options)), storage_(storage), record_(record) {
    plan_.kind = options_.kind;
    plan_.block = options_.block;
    plan_.device = options_.device;
}

Status EntryPlanner::in_layer(const ir::Node &node, const Status &status) {
    refused_.emplace(node.layer, status.message());
    return Status(status.fault(), fmt::format("layer {}: {}", node.layer, status.message()));
}

bool EntryPlanner::leaves_out(const Status &failed) const {
    return options_.draft && failed.fault() == Fault::input;
}

// ---- facts ----

Pace EntryPlanner::pace(ir::ValueId value) const {
    const auto pace = pace_of(graph_.type(value).clock, options_.block);
    return pace ? *pace : Pace{};
}

uint32_t EntryPlanner::input_of(ir::ValueId value) const {
    while (const ir::Node *node = graph_.producer(value)) value = node->inputs[0];
    for (size_t i = 0; i < graph_.inputs.size(); i++)
        if (graph_.inputs[i].value == value) return static_cast<uint32_t>(i);
    return 0;
}

uint32_t EntryPlanner::rows_of(ir::ValueId value) const {
    const ir::Type &type = graph_.type(value);
    if (streaming() && !type.clock.timeless()) return pace(value).rows;
    return static_cast<uint32_t>(type.rows(options_.block));
}

bool EntryPlanner::stores(ir::ValueId value) const {
    if (graph_.values[value].kind == ir::Value::Kind::input) return true;
    return std::any_of(regions_.begin(), regions_.end(),
                       [&](const Region &region) { return region.output == value; });
}

bool EntryPlanner::can_keep_channels(ir::ValueId value) const {
    const Demand &d = demands_[value];
    return streaming() && options_.device->keeps_channels &&
           graph_.values[value].kind != ir::Value::Kind::input && d.remembering == 1 && d.by_channel &&
           d.rows == rows_of(value);
}

bool EntryPlanner::plans(const Region &region) const {
    const auto used = graph_.nodes[region.anchor].op->used;
    return !used || used(contexts_[region.anchor]);
}

const ir::Node &EntryPlanner::reader(const Region &region) const {
    return region.producer ? *region.producer : graph_.nodes[region.anchor];
}

ir::Reach EntryPlanner::reach_of(const Region &region) const {
    const Choice &choice = choices_[region.anchor];
    if (choice.algorithm && choice.algorithm->reach)
        return choice.algorithm->reach(contexts_[region.anchor], choice.decisions);
    return {.history = history_of(reader(region))};
}

ir::StreamRule EntryPlanner::rule_of(const ir::Node &node) const {
    std::vector<ir::Type> types;
    for (auto v : node.inputs) types.push_back(graph_.type(v));
    return node.op->stream(node, types);
}

uint32_t EntryPlanner::history_of(const ir::Node &node) const { return rule_of(node).history; }

// A stream computes rows before the first of the sequence and after its last, because later layers
// wait for them. An op that reads older rows must find zeros there, as in an offline run.
bool EntryPlanner::has_silence_around(ir::ValueId value) const {
    return std::any_of(regions_.begin(), regions_.end(), [&](const Region &region) {
        const ir::Node &node = reader(region);
        if (!plans(region) || node.inputs[0] != value) return false;
        const ir::StreamRule rule = rule_of(node);
        const bool remembers = rule.history > 0 || !rule.carries.empty();
        return remembers && (rule.ahead > 0 || graph_.type(value).delay > 0);
    });
}

uint32_t EntryPlanner::rows_read(const Region &region, uint32_t rows) const {
    const ir::ValueId input = reader(region).inputs[0];
    const auto in = graph_.type(input).clock, out = graph_.type(graph_.nodes[region.anchor].output).clock;
    if (in.timeless() || out.timeless()) return rows;
    const uint64_t numerator = uint64_t{in.num} * out.den, denominator = uint64_t{in.den} * out.num;
    return numerator < denominator ? rows_of(input) : static_cast<uint32_t>(rows * (numerator / denominator));
}

// ---- the plan ----

BufferId EntryPlanner::buffer(std::string name, Space space, uint64_t bytes, int value) {
    plan_.buffers.push_back({.name = std::move(name), .space = space, .bytes = bytes, .value = value});
    return static_cast<BufferId>(plan_.buffers.size() - 1);
}

void EntryPlanner::place_values(const std::vector<Ring> &rings) {
    stored_.resize(graph_.values.size());
    channel_rings_.resize(graph_.values.size());
    const auto store = [&](ir::ValueId value, const std::string &name) {
        const ir::Type &type = graph_.type(value);
        const Demand &d = demands_[value];
        Stored &s = stored_[value];
        s = {.row_bytes = type.row() * longwave::bytes_of(type.elem), .rows = rows_of(value)};
        if (streaming() && rings[value].again) channel_rings_[value] = rings[value];
        else if (streaming() && rings[value].rows) {
            s.ring = rings[value].rows;
            s.buffer = rings[value].field;
            return;
        }
        s.ring = s.rows;
        if (!streaming()) {
            const uint32_t alignment = alignment_of(value);
            s.history = round_up(d.history, alignment / std::gcd(alignment, s.row_bytes));
            s.ring = round_up(s.history + std::max(round_up(s.rows, rows_of_call(s.rows, tiles())), d.rows),
                              d.granule);
        }
        s.buffer = buffer(name, Space::arena, uint64_t(s.ring) * s.row_bytes, static_cast<int>(value));
        plan_.buffers[s.buffer].channel_major = options_.channel_major.contains(static_cast<int>(value));
    };
    for (const auto &input : graph_.inputs) store(input.value, "input " + input.name);
    for (const Region &region : regions_)
        if (plans(region)) store(region.output, graph_.nodes[region.anchor].layer);
}

// With the older rows that a filter reads and whole blocks, a buffer is longer than its sequence.
Status EntryPlanner::check_rows() const {
    for (size_t value = 0; value < stored_.size(); value++) {
        const Stored &s = stored_[value];
        if (streaming() || s.ring <= artifact::cap::extent) continue;
        const ir::Type &type = graph_.type(static_cast<ir::ValueId>(value));
        const uint64_t more = uint64_t{s.ring} - s.rows, granule = demands_[value].granule;
        // Another length may round up to other tiles of rows, so the answer is a multiple of 64.
        const uint64_t room = artifact::cap::extent / granule * granule -
                              std::min<uint64_t>(more, artifact::cap::extent),
                       most = room / 64 * 64;
        return Status::usage(
            fmt::format("--length: a whole sequence of {} ticks: {} needs {} rows at once, and a kernel "
                        "takes at most {}; pass at most "
                        "--length {}",
                        options_.block, plan_.buffers[s.buffer].name, s.ring, artifact::cap::extent,
                        type.clock.timeless() ? most : most * type.clock.den / type.clock.num));
    }
    return Status::ok();
}

Step EntryPlanner::clear(BufferId id, uint64_t offset, uint64_t bytes, const std::string &name) const {
    Step step{.kind = Step::Kind::zero, .name = name + " clear"};
    step.bytes = bytes;
    step.args.push_back(Place{.buffer = id, .offset = offset});
    return step;
}

// A whole run: the rows before the first are silence, and so are those behind the last that a
// reader's last tile reaches.
void EntryPlanner::clear_around(ir::ValueId value, uint32_t written, const std::string &name) {
    const Stored &s = stored_[value];
    const uint64_t row_bytes = s.row_bytes;
    if (s.history > 0) plan_.steps.push_back(clear(s.buffer, 0, s.history * row_bytes, name));
    const uint32_t end = s.history + written;
    if (s.ring > end)
        plan_.steps.push_back(clear(s.buffer, end * row_bytes, (s.ring - end) * row_bytes, name));
}

void EntryPlanner::clear_tail(ir::ValueId value, const std::string &name) {
    const Stored &s = stored_[value];
    const ir::Type &type = graph_.type(value);
    if (plan_.buffers[s.buffer].channel_major) return clear_channels(value, name);
    Step step{.kind = Step::Kind::zero_tail, .name = name + " clear after the end"};
    step.args.push_back(Place{.buffer = s.buffer, .offset = uint64_t{s.history} * s.row_bytes});
    step.rows = s.rows;
    step.row_bytes = s.row_bytes;
    step.mul = type.clock.num;
    step.den = type.clock.den;
    step.whole = type.whole;
    plan_.steps.push_back(std::move(step));
}

void EntryPlanner::clear_channels(ir::ValueId value, const std::string &name) {
    const Stored &s = stored_[value];
    const ir::Type &type = graph_.type(value);
    Step step{.kind = Step::Kind::call, .name = name + " clear_channels", .layer = name, .writes = 1};
    const Scalar rows{.kind = Scalar::Kind::rows,
                      .value = static_cast<int32_t>(s.rows),
                      .mul = static_cast<int32_t>(type.clock.num),
                      .modulus = type.clock.den,
                      .add = whole_of(type)};
    ir::set_kernel<contract::ClearChannels>(step, {.width = type.row(), .rows = s.rows},
                                            {.first = rows, .x = Place{.buffer = s.buffer}});
    plan_.steps.push_back(std::move(step));
}

Status EntryPlanner::silence_around(const Region &region) {
    const ir::Node &node = graph_.nodes[region.anchor];
    if (!options_.device->stream_clears)
        return in_layer(
            node, Status::input("its stream waits for later rows, which only a stream on the CPU does"));
    const Stored &s = stored_[region.output];
    const ir::Type &type = graph_.type(region.output);
    const Pace p = pace(region.output);
    Step step{.kind = Step::Kind::zero_tail, .name = node.layer + " clear around the sequence"};
    Place place{.buffer = s.buffer};
    if (s.ring > s.rows) place.slots = s.ring / s.rows, place.slot_bytes = uint64_t{s.rows} * s.row_bytes;
    step.args.emplace_back(place);
    step.rows = s.rows;
    step.row_bytes = s.row_bytes;
    step.mul = type.clock.num;
    step.den = type.clock.den;
    step.whole = type.whole;
    step.lead = static_cast<uint32_t>(uint64_t{type.delay} * type.clock.num / type.clock.den);
    step.period = p.period;
    step.phase = p.phase;
    plan_.steps.push_back(std::move(step));
    return Status::ok();
}

// What the region computes, as an op's kernel rule says it.
Status EntryPlanner::plan_call(PlannedCall &call, const Region &region) {
    const ir::Node &node = graph_.nodes[region.anchor];
    const Choice &choice = choices_[region.anchor];
    ir::ValueId value = region.consumer ? region.consumer->output : node.output;
    if (region.pointwise) {
        value = node.inputs[0];
        plain_copy(call);
    } else if (choice.algorithm) {
        if (auto status = choice.algorithm->plan(call); !status) return in_layer(node, status);
    } else if (!node.op->kernel) {
        return in_layer(node, Status::input(fmt::format("op {} has no kernel in this place", node.op->name)));
    } else if (auto status = node.op->kernel(call); !status) {
        return in_layer(node, status);
    }
    for (size_t index : region.epilogue) {
        const ir::Node &op = graph_.nodes[index];
        if (auto status = call.fuse(op, value); !status) return in_layer(node, status);
        value = op.output;
    }
    return Status::ok();
}

ir::EndRule EntryPlanner::end_of(const ir::Node &node) const {
    std::vector<ir::Type> types;
    for (auto v : node.inputs) types.push_back(graph_.type(v));
    return ir::end_rule(node, types);
}

uint32_t EntryPlanner::rows_of_transform(const Region &region) const {
    const Choice &choice = choices_[region.anchor];
    if (streaming() || region.pointwise || !choice.algorithm || !choice.algorithm->transformed) return 0;
    return choice.algorithm->transformed(choice.decisions);
}

// Whether a layer needs a sequence as long as the run. None then ends within it.
void EntryPlanner::find_fixed_length() {
    for (const Region &region : regions_) {
        const ir::Node &node = graph_.nodes[region.anchor];
        if (!plans(region) || end_of(node) != ir::EndRule::fixed) continue;
        plan_.least = options_.block;
        plan_.fixed = node.layer;
        return;
    }
}

// Whether the rows behind the end of its input must be zeros.
bool EntryPlanner::reads_behind_end(const Region &region) const {
    const ir::Node &node = graph_.nodes[region.anchor];
    // Where a step is a dispatch of its own, every run would pay one for it.
    const bool spreads = rows_of_transform(region) > 0 && device_of(node).tiles;
    return !streaming() && (spreads || end_of(node) == ir::EndRule::clear);
}

// The last tile of a run writes whole: rows behind those of the longest sequence too. Readers that
// look there must find zeros.
void EntryPlanner::clear_last_tile(ir::ValueId value, uint32_t written, const std::string &name) {
    const Stored &s = stored_[value];
    if (written <= s.rows || plan_.buffers[s.buffer].channel_major) return;
    if (std::any_of(regions_.begin(), regions_.end(), [&](const Region &region) {
            return plans(region) && reads_behind_end(region) &&
                   graph_.nodes[region.anchor].inputs[0] == value;
        }))
        plan_.steps.push_back(clear(s.buffer, uint64_t{s.history + s.rows} * s.row_bytes,
                                    uint64_t{written - s.rows} * s.row_bytes, name));
}

Status EntryPlanner::plan_region(const Region &region) {
    const ir::Node &node = graph_.nodes[region.anchor];
    const size_t before = plan_.steps.size();
    const uint32_t transformed = rows_of_transform(region);
    if (transformed > 0) plan_.transformed.emplace(node.output, transformed);
    if (plan_.least == 0 && reads_behind_end(region)) clear_tail(node.inputs[0], node.layer);

    PlannedCall call(*this, region);
    LW_TRY(plan_call(call, region));
    if (!streaming()) clear_around(region.output, call.written_rows(), node.layer);
    call.finish();
    if (!streaming()) clear_last_tile(region.output, call.written_rows(), node.layer);
    if (streaming() && has_silence_around(region.output)) LW_TRY(silence_around(region));
    for (size_t i = before; i < plan_.steps.size(); i++) {
        plan_.steps[i].cpu = on_host(node);
        plan_.steps[i].node = static_cast<int>(region.anchor);
    }
    return Status::ok();
}

void EntryPlanner::plan_ports() {
    const auto ring = [&](const Stored &s) {
        Place place{.buffer = s.buffer, .offset = uint64_t(s.history) * s.row_bytes};
        if (s.ring > s.rows && streaming()) {
            place.slots = s.ring / s.rows;
            place.slot_bytes = uint64_t(s.rows) * s.row_bytes;
        }
        return place;
    };
    for (size_t i = 0; i < graph_.inputs.size(); i++) {
        const Stored &s = stored_[graph_.inputs[i].value];
        plan_.inputs.push_back(
            {.input = static_cast<uint32_t>(i), .place = ring(s), .rows = s.rows, .row_bytes = s.row_bytes});
    }
    for (const auto &output : graph_.outputs) {
        const Stored &s = stored_[output.value];
        const ir::Type &type = graph_.type(output.value);
        OutputPort port{.name = output.name,
                        .width = type.width(),
                        .place = ring(s),
                        .rows = rows_of(output.value),
                        .row_bytes = s.row_bytes,
                        .clock_num = type.clock.num,
                        .clock_den = type.clock.den,
                        .delay = type.delay,
                        .whole = type.whole};
        if (streaming()) {
            const Pace p = pace(output.value);
            port.period = p.period;
            port.phase = p.phase;
        }
        plan_.outputs.push_back(std::move(port));
    }
}

Expected<EntryPlan> EntryPlanner::plan(const std::vector<Ring> &rings) {
    place_values(rings);
    LW_TRY(check_rows());
    if (!streaming()) {
        find_fixed_length();
        for (const auto &input : graph_.inputs)
            clear_around(input.value, stored_[input.value].rows, "input " + input.name);
    }
    // The inputs of a mixed run arrive on the host.
    for (Step &step : plan_.steps) step.cpu = mixed();
    for (const Region &region : regions_)
        if (plans(region))
            if (const Status status = plan_region(region); !status && !leaves_out(status)) return status;
    plan_ports();
    if (mixed()) add_transfers(plan_);
    measure_lifetimes(plan_);
    return std::move(plan_);
}

} // namespace longwave::compiler
