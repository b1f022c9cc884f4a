#include "compiler/planner/planned_call.h"
#include "compiler/ops/op.h"
#include "compiler/planner/convolution_calls.h"
#include "compiler/planner/entry_planner.h"
#include "schedules/kernel.h"
#include <fmt/format.h>

namespace longwave::compiler {

namespace {
constexpr uint64_t element_bytes = 4;
constexpr uint64_t cache_line = 64;
uint64_t aligned(uint64_t n) { return (n + cache_line - 1) / cache_line * cache_line; }

nlohmann::json to_json(const ir::Attribute &attribute) {
    return std::visit([](const auto &value) { return nlohmann::json(value); }, attribute);
}
} // namespace

PlannedCall::PlannedCall(EntryPlanner &planner, const ir::Node &of, ir::ValueId output, bool gated)
    : KernelCall(of), planner_(planner), output_(output), gated_(gated), streaming_(planner.streaming()) {
    spec_["params"] = nlohmann::json::object();
    sequence_rows_ = planner.rows_of(output);
    if (streaming_) rows_ = sequence_rows_;
    else {
        rows_ = tile_rows(sequence_rows_);
        tiles_ = (sequence_rows_ + rows_ - 1) / rows_;
    }
}

const ir::Graph &PlannedCall::graph() const { return planner_.graph_; }
const ir::Type &PlannedCall::type(size_t input) const { return planner_.graph_.type(node.inputs[input]); }
const ir::Type &PlannedCall::result() const { return planner_.graph_.type(output_); }
const ir::Numbers &PlannedCall::constant(const ir::Node &of, size_t input) const { return planner_.graph_.constant(of.inputs[input])->data; }
const ir::Node *PlannedCall::producer(size_t input) const { return planner_.graph_.producer(node.inputs[input]); }
uint32_t PlannedCall::rows_of_input(size_t input) const { return planner_.rows_of(node.inputs[input]); }
const ConvolutionChoice &PlannedCall::choice() const { return planner_.choices_[static_cast<size_t>(&node - planner_.graph_.nodes.data())]; }
Storage &PlannedCall::storage() const { return planner_.storage_; }

void PlannedCall::param(const std::string &name, ir::Attribute value) { spec_["params"][name] = to_json(value); }

Status PlannedCall::convolution() { return plan_convolution(*this); }

// ---- where rows lie ----

Place PlannedCall::rows_place(ir::ValueId value) const {
    const Stored &s = planner_.stored(value);
    uint64_t row_bytes = s.row * element_bytes;
    Place place{.buffer = s.buffer, .offset = s.history * row_bytes, .tile_bytes = channel_bytes_};
    if (streaming_ && s.ring > s.rows) {
        place.slots = s.ring / s.rows;
        place.slot_bytes = s.rows * row_bytes;
    }
    if (!streaming_ && channel_bytes_ == 0 && tiles_ > 1) place.tile_bytes = rows_ * row_bytes;
    return place;
}

void PlannedCall::read_rows(size_t input) { inputs_.push_back(rows_place(node.inputs[input])); }

void PlannedCall::read_all(size_t input) {
    Place place = rows_place(node.inputs[input]);
    place.tile_bytes = channel_bytes_;
    inputs_.push_back(place);
}

void PlannedCall::read_ring(size_t input, uint32_t reads) {
    // A frame's ring is that of the samples, one op further up.
    ir::ValueId value = node.inputs[input];
    if (const ir::Node *frame = planner_.graph_.producer(value); frame && std::string_view(frame->op->name) == "frame") value = frame->inputs[0];
    const Stored &s = planner_.stored(value);
    param("ring", s.ring);
    inputs_.push_back(Place{.buffer = s.buffer});
    uint32_t fresh = rows_ * reads;
    Scalar position{.kind = Scalar::Kind::slot};
    if (streaming_) {
        position.modulus = s.ring / fresh;
        position.mul = static_cast<int32_t>(fresh);
    } else {
        position.value = static_cast<int32_t>(s.history);
        position.tile_mul = static_cast<int32_t>(fresh);
    }
    scalars_.push_back(position);
}

void PlannedCall::write() { outputs_.push_back(rows_place(output_)); }

void PlannedCall::weight(const std::string &name, const std::vector<float> &packed) {
    weights_.push_back(Place{.buffer = storage().weights(node.layer + "." + name, packed)});
}

void PlannedCall::valid_rows(size_t input) {
    auto clock = type(input).clock;
    scalar({.kind = Scalar::Kind::length,
            .value = static_cast<int32_t>(rows_of_input(input)),
            .mul = static_cast<int32_t>(clock.num),
            .modulus = clock.den,
            .add = planner_.input_of(node.inputs[input])}); // two documents have lengths of their own
}

// ---- what survives a call ----

BufferId PlannedCall::remember(const std::string &name, uint64_t bytes) {
    BufferId id = planner_.buffer(node.layer + " " + name, streaming_ ? Space::state : Space::arena, bytes);
    if (!streaming_) planner_.plan_.steps.push_back(planner_.clear(id, 0, bytes, node.layer + " " + name));
    return id;
}

std::pair<Place, Place> PlannedCall::carried(const std::string &name, uint64_t bytes, uint64_t tile_bytes) {
    uint64_t slot = aligned(bytes);
    Place read{.tile_bytes = tile_bytes};
    Place written = read;
    if (streaming_) {
        read.buffer = written.buffer = remember(name, 2 * slot);
        read.slots = written.slots = 2;
        read.slot_bytes = written.slot_bytes = slot;
        written.slot_add = 1;
    } else { // a run fires once: from zeros into a buffer nobody reads
        read.buffer = remember(name, slot);
        written.buffer = planner_.buffer(node.layer + " " + name + " after", Space::arena, slot);
    }
    return {read, written};
}

void PlannedCall::carry(const std::string &name, uint64_t bytes, uint64_t tile_bytes) {
    const auto [read, written] = carried(name, bytes, tile_bytes);
    inputs_.push_back(read);
    outputs_.push_back(written);
}

void PlannedCall::clear_tail(size_t input) {
    const Stored &s = planner_.stored(node.inputs[input]);
    auto clock = type(input).clock;
    Step step{.kind = Step::Kind::zero_tail, .name = node.layer + " clear after the end"};
    step.args.push_back(Place{.buffer = s.buffer, .offset = s.history * s.row * element_bytes});
    step.rows = s.rows;
    step.row_bytes = static_cast<uint32_t>(s.row * element_bytes);
    step.mul = clock.num;
    step.den = clock.den;
    planner_.plan_.steps.push_back(std::move(step));
}

// ---- several steps for one op ----

Place PlannedCall::rows_of_large_blocks(size_t input, uint32_t rows, uint32_t ago) {
    const Stored &s = planner_.stored(node.inputs[input]);
    const uint32_t slots = s.ring / rows;
    return {.buffer = s.buffer, .slot_bytes = rows * s.row * element_bytes, .tile_bytes = channel_bytes_, .slots = slots, .slot_add = slots - ago};
}

void PlannedCall::add(Place rows) {
    spec_["epilogue"].push_back({{"op", "add"}});
    operands_.push_back(rows);
}

void PlannedCall::also(Step step) { planner_.plan_.steps.push_back(std::move(step)); }

// ---- tiling ----

void PlannedCall::one_call() {
    rows_ = sequence_rows_;
    tiles_ = 1;
}

void PlannedCall::channel_tiles(uint32_t tiles, uint64_t tile_bytes) {
    rows_ = sequence_rows_;
    tiles_ = tiles;
    channel_bytes_ = tile_bytes;
}

// ---- what is fused behind, and the step ----

Status PlannedCall::epilogue(const ir::Node &op, ir::ValueId value) {
    nlohmann::json entry{{"op", op.op->name}};
    for (const auto &[name, attribute] : op.attributes) entry[name] = to_json(attribute);
    for (size_t i = 0; i < op.inputs.size(); i++) {
        // The value itself may stand anywhere among the inputs of what commutes.
        if (op.inputs[i] == value) continue;
        const ir::Constant *constant = planner_.graph_.constant(op.inputs[i]);
        if (op.op->pointwise == ir::Pointwise::with_channels) {
            if (!constant) return Status::input(fmt::format("the operands of {} must be constants", op.op->name));
            Place place{.buffer = storage().weights(fmt::format("{}.{}.{}", op.layer, op.op->name, i),
                                                    planner_.graph_.type(op.output).packed(constant->data))};
            place.tile_bytes = channel_bytes_;
            operands_.push_back(place);
        } else {
            if (constant) return Status::input(fmt::format("an operand of {} must be a value with rows, not a constant", op.op->name));
            operands_.push_back(rows_place(op.inputs[i]));
        }
    }
    spec_["epilogue"].push_back(std::move(entry));
    return Status::ok();
}

Step PlannedCall::step() const {
    Step step{.kind = Step::Kind::call,
              .name = fmt::format("{} {}", node.layer, spec_["kernel"].get<std::string>()),
              .layer = node.layer,
              .spec = spec_.dump()};
    step.tiles = tiles_;
    for (auto *places : {&inputs_, &weights_, &operands_})
        for (const Place &place : *places) step.args.push_back(place);
    for (const Scalar &scalar : scalars_) step.args.push_back(scalar);
    for (const Place &place : outputs_) step.args.push_back(place);
    return step;
}

} // namespace longwave::compiler
