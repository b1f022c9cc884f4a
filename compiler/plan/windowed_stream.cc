#include "compiler/plan/windowed_stream.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/plan/entry_planner.h"
#include "compiler/plan/options.h"
#include "schedules/contract/kernels/pointwise.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace contract = schedules::contract;

namespace {

constexpr uint32_t most_hops = 64;                 // in a window: each is a step of every block
constexpr uint32_t longest_hop = 1 << 20;          // rows of one call of the copying kernel
constexpr uint32_t longest_window = 1 << 24;       // of a run
constexpr uint32_t longest_window_delay = 1 << 20; // of an output

Status check_output(const ir::GraphOutput &output, const ir::Type &type, uint32_t window, uint32_t hop) {
    const ir::Clock clock = type.clock;
    if (window % type.whole || hop % type.whole)
        return Status::usage(
            fmt::format("--window {} --hop {}: rows of output {} come for {} ticks together; expected "
                        "multiples of {}",
                        window, hop, output.name, type.whole, type.whole));
    const uint64_t rows = uint64_t{hop} * clock.num;
    if (rows % clock.den)
        return Status::usage(
            fmt::format("--hop {}: it cuts a row of output {}, which has {} for every {} ticks", hop,
                        output.name, clock.num, clock.den));
    const uint64_t lead = (uint64_t{window} - hop) * clock.num / clock.den / 2;
    if (lead * clock.den % clock.num)
        return Status::usage(
            fmt::format("--window {} --hop {}: the middle cuts a tick: output {} has {} rows for "
                        "every {} ticks",
                        window, hop, output.name, clock.num, clock.den));
    if (lead * clock.den / clock.num > longest_window_delay)
        return Status::usage(fmt::format("--window {} --hop {}: a delay of {} ticks; expected at most {}",
                                         window, hop, lead * clock.den / clock.num, longest_window_delay));
    return Status::ok();
}

// The last `window` input rows, in slots of one hop.
struct WindowRing {
    BufferId buffer;
    uint32_t window, hop;
    uint32_t slots() const { return window / hop; }
};

// The only field of the state.
WindowRing input_ring(const ir::Graph &graph, uint32_t window, uint32_t hop, StateRecord &record) {
    const ir::GraphInput &input = graph.inputs[0];
    const ir::Type &type = graph.type(input.value);
    const uint32_t earlier = window - hop; // rows that the next window shares with this one
    return {.buffer = record.history({.layer = "input " + input.name,
                                      .name = window_field,
                                      .elem = type.elem,
                                      .dims = {window, type.row()},
                                      .needs = earlier,
                                      .keeps = earlier}),
            .window = window,
            .hop = hop};
}

// Copies one slot, the oldest first, to where the run reads its input. Bits as they are: ids of
// tokens pass as well.
Step copy_slot(const WindowRing &ring, uint32_t slot, const InputPort &run, const std::string &name) {
    Step step{.name = fmt::format("input {} window {}", name, slot)};
    const uint64_t bytes = uint64_t{ring.hop} * run.row_bytes;
    const Place from{.buffer = ring.buffer,
                     .slot_bytes = bytes,
                     .slots = ring.slots(),
                     .slot_add = (slot + 1) % ring.slots()},
        to{.buffer = run.place.buffer, .offset = run.place.offset + slot * bytes};
    ir::set_kernel<contract::Pointwise>(step, {.width = run.row_bytes / 4, .rows = ring.hop},
                                        {.x = from, .y = to});
    return step;
}

// A clear as a kernel call.
Step copy_zeros(const Step &clear, Storage &storage) {
    constexpr uint64_t line = 64, number = 4; // bytes
    const Place to = std::get<Place>(clear.args[0]);
    const bool lines =
        to.offset % line == 0 && clear.bytes % line == 0; // else rows of one may start anywhere
    const auto numbers = static_cast<uint32_t>(clear.bytes / number);
    const int64_t width = lines ? int64_t{line / number} : 1;
    Step step{.name = clear.name, .layer = clear.layer};
    const Place zeros{.buffer = storage.weights(fmt::format("{} zeros", numbers),
                                                Packed::f32({numbers}, std::vector<float>(numbers)))};
    ir::set_kernel<contract::Pointwise>(step, {.width = width, .rows = numbers / width},
                                        {.x = zeros, .y = to});
    return step;
}

// Windows are always full, so length scalars become constants.
void fill_length(Step &step, uint32_t window) {
    if (step.kind == Step::Kind::zero_tail) {
        const uint64_t ticks = window - window % step.whole;
        const uint64_t from = std::min<uint64_t>(step.rows, ticks * step.mul / step.den);
        step.bytes = (step.rows - from) * step.row_bytes;
        std::get<Place>(step.args[0]).offset += from * step.row_bytes;
        step.kind = Step::Kind::zero;
        step.rows = step.row_bytes = 0;
        step.mul = step.den = step.whole = 1;
    }
    for (Argument &argument : step.args) {
        auto *scalar = std::get_if<Scalar>(&argument);
        if (!scalar || (scalar->kind != Scalar::Kind::length && scalar->kind != Scalar::Kind::rows)) continue;
        const bool together = scalar->kind == Scalar::Kind::rows && scalar->add > 1;
        const int64_t ticks = together ? window - window % scalar->add : window;
        const int64_t rows = ticks * scalar->mul / scalar->modulus;
        *scalar = {.kind = Scalar::Kind::constant,
                   .value = static_cast<int32_t>(std::min<int64_t>(rows, scalar->value))};
    }
}

// The slots of the ring in order, then the steps of the run.
std::vector<Step> steps_of_window(EntryPlan &run, const WindowRing &ring, const std::string &input,
                                  Storage &storage) {
    std::vector<Step> steps;
    for (uint32_t slot = 0; slot < ring.slots(); slot++)
        steps.push_back(copy_slot(ring, slot, run.inputs[0], input));
    for (Step &step : run.steps) {
        fill_length(step, ring.window);
        if (step.kind == Step::Kind::zero && step.bytes == 0) continue;
        const bool clears = !run.device->stream_clears && step.kind == Step::Kind::zero;
        steps.push_back(clears ? copy_zeros(step, storage) : std::move(step));
    }
    return steps;
}

void write_newest_slot(InputPort &port, const WindowRing &ring) {
    port.place = {
        .buffer = ring.buffer, .slot_bytes = uint64_t{ring.hop} * port.row_bytes, .slots = ring.slots()};
    port.rows = ring.hop;
}

// Of the rows of a window, those that it adds to the stream.
void show_one_hop(OutputPort &output, uint32_t window, uint32_t hop) {
    const ir::Clock clock{output.clock_num, output.clock_den};
    const WindowRows rows = rows_in_window(clock, window, hop);
    output.place.offset += uint64_t{rows.first} * output.row_bytes;
    output.rows = rows.rows;
    output.delay += rows.delay;
    if (clock.timeless()) {
        output.clock_num = 1;
        output.clock_den = hop;
    }
}

} // namespace

WindowRows rows_in_window(ir::Clock clock, uint32_t window, uint32_t hop) {
    if (clock.timeless()) return {};
    const auto rows = [&](uint64_t ticks) { return static_cast<uint32_t>(ticks * clock.num / clock.den); };
    const uint32_t around = rows(window - hop), behind = around / 2;
    return {.first = around - behind,
            .rows = rows(hop),
            .delay = static_cast<uint32_t>(uint64_t{behind} * clock.den / clock.num)};
}

Status check_window(const ir::Graph &graph, uint32_t window, uint32_t hop) {
    if (hop == 0 || hop > longest_hop)
        return Status::usage(fmt::format("--hop {}: expected 1 to {} input ticks", hop, longest_hop));
    if (window == 0 || window > longest_window || window % hop || window / hop > most_hops)
        return Status::usage(
            fmt::format("--window {} --hop {}: expected 1 to {} whole hops, and at most {} ticks", window,
                        hop, most_hops, longest_window));
    if (graph.inputs.size() != 1)
        return Status::usage(
            fmt::format("--window slides over one input; this model has {}", graph.inputs.size()));
    for (const auto &output : graph.outputs)
        if (const ir::Type &type = graph.type(output.value); !type.clock.timeless())
            LW_TRY(check_output(output, type, window, hop));
    return Status::ok();
}

EntryPlan windowed_stream(EntryPlan plan, const ir::Graph &graph, uint32_t hop, StateRecord &record,
                          Storage &storage) {
    const uint32_t window = plan.block;
    const WindowRing ring = input_ring(graph, window, hop, record);
    plan.steps = steps_of_window(plan, ring, graph.inputs[0].name, storage);

    plan.kind = EntryPlan::Kind::stream;
    plan.block = hop;
    plan.window = window;
    plan.least = 0; // a window is always full
    plan.fixed.clear();
    write_newest_slot(plan.inputs[0], ring);
    for (OutputPort &output : plan.outputs) show_one_hop(output, window, hop);
    measure_lifetimes(plan);
    return plan;
}

} // namespace longwave::compiler
