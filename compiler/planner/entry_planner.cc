#include "compiler/planner/entry_planner.h"
#include "compiler/ops/op.h"
#include "schedules/kernel.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace longwave::compiler {

namespace {

constexpr uint32_t element_bytes = 4;

uint32_t round_up(uint32_t n, uint32_t multiple) { return (n + multiple - 1) / multiple * multiple; }

bool is(const ir::Node &node, const char *op) { return std::string_view(node.op->name) == op; }

std::vector<ir::Type> input_types(const ir::Graph &graph, const ir::Node &node) {
    std::vector<ir::Type> types;
    for (auto v : node.inputs) types.push_back(graph.type(v));
    return types;
}

// The rows a chain of pointwise ops alone is applied to.
void plain_copy(PlannedCall &call) {
    const ir::Type &x = call.type(0);
    call.kernel("pointwise");
    call.param("width", x.row());
    call.param("channels", x.dims.back() == 1 ? x.width() : x.dims.back());
    call.param("rows", call.rows());
    call.read_rows(0);
    call.write();
}

} // namespace

uint32_t tile_rows(uint32_t rows) { return rows <= 128 ? rows : 64; }

EntryPlanner::EntryPlanner(const ir::Graph &graph, EntryPlan::Kind kind, uint32_t block, std::string force, Storage &storage)
    : graph_(graph), block_(block), force_(std::move(force)), storage_(storage) {
    plan_.kind = kind;
    plan_.block = block;
}

Pace EntryPlanner::pace(ir::ValueId value) const {
    auto p = pace_of(graph_.type(value).clock, block_);
    return p ? *p : Pace{};
}

uint32_t EntryPlanner::input_of(ir::ValueId value) const {
    while (const ir::Node *node = graph_.producer(value)) value = node->inputs[0];
    for (size_t i = 0; i < graph_.inputs.size(); i++)
        if (graph_.inputs[i].value == value) return static_cast<uint32_t>(i);
    return 0;
}

uint32_t EntryPlanner::rows_of(ir::ValueId value) const {
    auto clock = graph_.type(value).clock;
    if (clock.timeless()) return 1;
    if (streaming()) return pace(value).rows;
    return static_cast<uint32_t>(uint64_t(block_) * clock.num / clock.den);
}

const Stored &EntryPlanner::stored(ir::ValueId value) const { return stored_[value]; }

BufferId EntryPlanner::buffer(std::string name, Space space, uint64_t bytes) {
    plan_.buffers.push_back({.name = std::move(name), .space = space, .bytes = bytes});
    return static_cast<BufferId>(plan_.buffers.size() - 1);
}

ir::ValueId EntryPlanner::anchor_input(const Region &region) const {
    const ir::Node &node = graph_.nodes[region.anchor];
    if (region.framed) return graph_.producer(node.inputs[0])->inputs[0];
    return node.inputs[0];
}

uint32_t EntryPlanner::history_of(const Region &region) const {
    const ir::Node *node = &graph_.nodes[region.anchor];
    if (region.framed) node = graph_.producer(node->inputs[0]);
    auto types = input_types(graph_, *node);
    if (is(*node, "long_conv")) {
        const ConvolutionChoice &choice = choices_[region.anchor];
        if (choice.algorithm == Algorithm::direct) return std::min(types[1].dims[2], streaming() ? types[1].dims[2] : rows_of(node->inputs[0])) - 1;
        // The large block before the one that is coming in stays as it is while its tiles are computed.
        return choice.algorithm == Algorithm::nonuniform ? 2 * choice.tail_length - choice.length : 0;
    }
    auto rule = node->op->stream(*node, types);
    return rule.kind == ir::StreamRule::Kind::history ? rule.rows : 0;
}

uint32_t EntryPlanner::stride_of(const Region &region) const {
    const ir::Node &node = graph_.nodes[region.anchor];
    auto in = graph_.type(anchor_input(region)).clock, out = graph_.type(node.output).clock;
    if (in.timeless() || out.timeless()) return 1;
    return static_cast<uint32_t>(uint64_t(in.num) * out.den / (uint64_t(in.den) * out.num));
}

Status EntryPlanner::choose_convolutions() {
    choices_.resize(graph_.nodes.size());
    auto layers =
        static_cast<uint32_t>(std::count_if(graph_.nodes.begin(), graph_.nodes.end(), [](const ir::Node &node) { return is(node, "long_conv"); }));
    for (size_t i = 0; i < graph_.nodes.size(); i++) {
        const ir::Node &node = graph_.nodes[i];
        if (!is(node, "long_conv")) continue;
        const auto &kernel = graph_.type(node.inputs[1]).dims;
        ConvolutionShape shape{.channels = kernel[1],
                               .copies = static_cast<uint32_t>(node.integer("channels")),
                               .taps = kernel[2],
                               .rows = rows_of(node.inputs[0]),
                               .streaming = streaming(),
                               .two_sided = node.integer("two_sided") != 0,
                               .layers = layers};
        if (!streaming()) shape.taps = std::min(shape.taps, shape.rows);
        auto choice = choose_convolution(shape, force_);
        if (!choice) return Status(choice.status().fault(), fmt::format("layer {}: {}", node.layer, choice.status().message()));
        choices_[i] = *choice;
        reports_.push_back({node.layer, shape, *choice});
    }
    return Status::ok();
}

// A value is stored when it is an input of the entry or leaves a region. Its buffer must hold, for every reader, the rows that reader looks back on.
Status EntryPlanner::place_values() {
    struct Demand {
        uint32_t history = 0, rows = 1, multiple = 1;
        uint32_t granule = 1; // frames find their samples in pieces of this size
    };
    std::vector<Demand> demand(graph_.values.size());
    for (const Region &region : regions_) {
        ir::ValueId input = anchor_input(region);
        uint32_t out_rows = rows_of(graph_.nodes[region.anchor].output), stride = stride_of(region);
        Demand &d = demand[input];
        uint32_t reads = streaming() ? out_rows * stride : round_up(out_rows, tile_rows(out_rows)) * stride;
        if (graph_.type(graph_.nodes[region.anchor].output).clock.timeless()) reads = rows_of(input);
        d.history = std::max(d.history, history_of(region));
        d.rows = std::max(d.rows, reads);
        d.multiple = std::lcm(d.multiple, reads);
        if (is(graph_.nodes[region.anchor], "long_conv") && choices_[region.anchor].tail_length)
            d.multiple = std::lcm(d.multiple, choices_[region.anchor].tail_length);
        if (region.framed) {
            const ir::Node &frame = *graph_.producer(graph_.nodes[region.anchor].inputs[0]);
            d.granule = static_cast<uint32_t>(std::gcd(frame.integer("window"), frame.integer("hop")));
        }
    }
    stored_.resize(graph_.values.size());
    auto store = [&](ir::ValueId value, const std::string &name, bool input) {
        const Demand &d = demand[value];
        Stored s{.row = graph_.type(value).row(), .rows = rows_of(value)};
        Space space = Space::arena;
        if (streaming()) {
            s.ring = round_up(d.history + std::max(d.rows, s.rows), std::lcm(d.multiple, s.rows));
            // Pushed samples wait in the state until their block is complete.
            if (s.ring > s.rows || input) space = Space::state;
        } else {
            s.history = d.history;
            s.ring = round_up(s.history + std::max(round_up(s.rows, tile_rows(s.rows)), d.rows), d.granule);
        }
        s.buffer = buffer(name, space, uint64_t(s.ring) * s.row * element_bytes);
        stored_[value] = s;
    };
    for (const auto &input : graph_.inputs) store(input.value, "input " + input.name, true);
    for (const Region &region : regions_) store(region.output, graph_.nodes[region.anchor].layer, false);
    return Status::ok();
}

Step EntryPlanner::clear(BufferId id, uint64_t offset, uint64_t bytes, const std::string &name) const {
    Step step{.kind = Step::Kind::zero, .name = name + " clear"};
    step.bytes = bytes;
    step.args.push_back(Place{.buffer = id, .offset = offset});
    return step;
}

// A whole run: the rows before the first are silence, and so are those behind the last that a reader's last tile reaches.
void EntryPlanner::clear_around(ir::ValueId value, uint32_t written, const std::string &name) {
    const Stored &s = stored_[value];
    uint64_t row_bytes = uint64_t(s.row) * element_bytes;
    if (s.history > 0) plan_.steps.push_back(clear(s.buffer, 0, s.history * row_bytes, name));
    uint32_t end = s.history + written;
    if (s.ring > end) plan_.steps.push_back(clear(s.buffer, end * row_bytes, (s.ring - end) * row_bytes, name));
}

Status EntryPlanner::plan_region(const Region &region) {
    const ir::Node &node = graph_.nodes[region.anchor];
    auto fail = [&](const Status &status) { return Status(status.fault(), fmt::format("layer {}: {}", node.layer, status.message())); };

    PlannedCall call(*this, node, region.output, region.glu != nullptr);
    ir::ValueId value = region.glu ? region.glu->output : node.output;
    if (region.pointwise) {
        value = node.inputs[0];
        plain_copy(call);
    } else if (!node.op->kernel) return fail(Status::input(fmt::format("op {} has no kernel in this place", node.op->name)));
    else if (auto status = node.op->kernel(call); !status) return fail(status);
    for (size_t index : region.epilogue) {
        const ir::Node &op = graph_.nodes[index];
        if (auto status = call.epilogue(op, value); !status) return fail(status);
        value = op.output;
    }

    if (!streaming()) clear_around(region.output, call.written_rows(), node.layer);
    Step step = call.step();
    if (streaming()) {
        Pace p = pace(region.output);
        step.period = p.period;
        step.phase = p.phase;
    }
    plan_.steps.push_back(std::move(step));
    return Status::ok();
}

void EntryPlanner::plan_ports() {
    for (size_t i = 0; i < graph_.inputs.size(); i++) {
        const Stored &s = stored_[graph_.inputs[i].value];
        uint32_t row_bytes = s.row * element_bytes;
        Place place{.buffer = s.buffer, .offset = uint64_t(s.history) * row_bytes};
        if (s.ring > s.rows && streaming()) {
            place.slots = s.ring / s.rows;
            place.slot_bytes = uint64_t(s.rows) * row_bytes;
        }
        plan_.inputs.push_back({.input = static_cast<uint32_t>(i), .place = place, .rows = s.rows, .row_bytes = row_bytes});
    }
    for (const auto &output : graph_.outputs) {
        const Stored &s = stored_[output.value];
        const ir::Type &type = graph_.type(output.value);
        OutputPort port{.name = output.name, .width = type.width(), .rows = rows_of(output.value), .row_bytes = s.row * element_bytes};
        port.place = {.buffer = s.buffer, .offset = uint64_t(s.history) * port.row_bytes};
        if (streaming()) {
            if (s.ring > s.rows) {
                port.place.slots = s.ring / s.rows;
                port.place.slot_bytes = uint64_t(s.rows) * port.row_bytes;
            }
            Pace p = pace(output.value);
            port.period = p.period;
            port.phase = p.phase;
        }
        port.clock_num = type.clock.num;
        port.clock_den = type.clock.den;
        port.delay = type.delay;
        plan_.outputs.push_back(std::move(port));
    }
}

void measure_lifetimes(EntryPlan &plan) {
    int count = static_cast<int>(plan.steps.size());
    std::vector<bool> seen(plan.buffers.size(), false);
    auto touch = [&](BufferId id, int step) {
        if (id & shared_buffer) return;
        Buffer &b = plan.buffers[id];
        if (!seen[id]) b.first = b.last = step;
        b.first = std::min(b.first, step);
        b.last = std::max(b.last, step);
        seen[id] = true;
    };
    for (const auto &port : plan.inputs) touch(port.place.buffer, -1);
    for (int i = 0; i < count; i++)
        for (const auto &arg : plan.steps[i].args)
            if (auto *place = std::get_if<Place>(&arg)) touch(place->buffer, i);
    for (const auto &port : plan.outputs) touch(port.place.buffer, count);
    for (const auto &step : plan.steps) plan.period = std::lcm(plan.period, step.period);
}

Expected<EntryPlan> EntryPlanner::plan() {
    LW_TRY(choose_convolutions());
    regions_ = fuse_regions(graph_);
    LW_TRY(place_values());
    if (!streaming())
        for (const auto &input : graph_.inputs) clear_around(input.value, stored_[input.value].rows, "input " + input.name);
    for (const Region &region : regions_) LW_TRY(plan_region(region));
    plan_ports();
    measure_lifetimes(plan_);
    return std::move(plan_);
}

} // namespace longwave::compiler
