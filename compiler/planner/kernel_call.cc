#include "compiler/planner/kernel_call.h"
#include "compiler/planner/entry_planner.h"
#include "compiler/ops/op.h"
#include "schedules/kernel.h"

namespace longwave::compiler {

namespace {
constexpr uint64_t element_bytes = 4;
constexpr uint64_t cache_line = 64;
uint64_t aligned(uint64_t n) { return (n + cache_line - 1) / cache_line * cache_line; }
} // namespace

KernelCall::KernelCall(EntryPlanner &planner, const ir::Node &of, ir::ValueId output, bool gated)
    : node(of), glu(gated), streaming(planner.streaming()), planner_(planner), output_(output) {
    spec_["params"] = nlohmann::json::object();
    sequence_rows_ = planner.rows_of(output);
    if (streaming) rows_ = sequence_rows_;
    else {
        rows_ = tile_rows(sequence_rows_);
        tiles_ = (sequence_rows_ + rows_ - 1) / rows_;
    }
}

const ir::Type &KernelCall::type(size_t input) const { return planner_.graph_.type(node.inputs[input]); }
const ir::Type &KernelCall::result() const { return planner_.graph_.type(output_); }
const std::vector<double> &KernelCall::constant(size_t input) const { return *planner_.graph_.constant(node.inputs[input])->data; }
Storage &KernelCall::storage() const { return planner_.storage_; }
const ConvolutionChoice &KernelCall::convolution() const { return planner_.choices_[static_cast<size_t>(&node - planner_.graph_.nodes.data())]; }

Place KernelCall::rows_place(ir::ValueId value, uint32_t rows_per_call) const {
    const Stored &s = planner_.stored(value);
    uint64_t row_bytes = s.row * element_bytes;
    Place place{.buffer = s.buffer, .offset = s.history * row_bytes, .tile_bytes = channel_bytes_};
    if (streaming && s.ring > s.rows) {
        place.slots = s.ring / s.rows;
        place.slot_bytes = s.rows * row_bytes;
    }
    if (!streaming && channel_bytes_ == 0 && tiles_ > 1) place.tile_bytes = rows_per_call * row_bytes;
    return place;
}

uint32_t KernelCall::rows_of_input(size_t input) const { return planner_.rows_of(node.inputs[input]); }

void KernelCall::read_rows(size_t input) { inputs_.push_back(rows_place(node.inputs[input], rows_)); }

void KernelCall::read_all(size_t input) {
    Place place = rows_place(node.inputs[input], rows_);
    place.tile_bytes = channel_bytes_;
    inputs_.push_back(place);
}

void KernelCall::read_ring(size_t input, uint32_t reads) {
    // A frame's ring is that of the samples, one op further up.
    ir::ValueId value = node.inputs[input];
    if (const ir::Node *frame = planner_.graph_.producer(value); frame && std::string_view(frame->op->name) == "frame") value = frame->inputs[0];
    const Stored &s = planner_.stored(value);
    param("ring", s.ring);
    inputs_.push_back(Place{.buffer = s.buffer});
    uint32_t fresh = rows_ * reads;
    Scalar position{.kind = Scalar::Kind::slot};
    if (streaming) {
        position.modulus = s.ring / fresh;
        position.mul = static_cast<int32_t>(fresh);
    } else {
        position.value = static_cast<int32_t>(s.history);
        position.tile_mul = static_cast<int32_t>(fresh);
    }
    scalars_.push_back(position);
}

void KernelCall::write() { outputs_.push_back(rows_place(output_, rows_)); }

void KernelCall::weight(const std::string &name, const std::vector<float> &packed) {
    weights_.push_back(Place{.buffer = storage().weights(node.layer + "." + name, packed)});
}

void KernelCall::weight64(const std::string &name, const std::vector<double> &packed) {
    weights_.push_back(Place{.buffer = storage().weights(node.layer + "." + name, packed)});
}

BufferId KernelCall::remember(const std::string &name, uint64_t bytes) {
    BufferId id = planner_.buffer(node.layer + " " + name, streaming ? Space::state : Space::arena, bytes);
    if (!streaming) planner_.plan_.steps.push_back(planner_.clear(id, 0, bytes, node.layer + " " + name));
    return id;
}

void KernelCall::ping_pong(const std::string &name, uint64_t bytes, uint64_t tile_bytes) {
    uint64_t slot = aligned(bytes);
    Place read{.tile_bytes = tile_bytes};
    Place written = read;
    if (streaming) {
        read.buffer = written.buffer = remember(name, 2 * slot);
        read.slots = written.slots = 2;
        read.slot_bytes = written.slot_bytes = slot;
        written.slot_add = 1;
    } else { // a run fires once: from zeros into a buffer nobody reads
        read.buffer = remember(name, slot);
        written.buffer = planner_.buffer(node.layer + " " + name + " after", Space::arena, slot);
    }
    inputs_.push_back(read);
    outputs_.push_back(written);
}

void KernelCall::clear_tail(size_t input) {
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

void KernelCall::one_call() {
    rows_ = sequence_rows_;
    tiles_ = 1;
}

void KernelCall::channel_tiles(uint32_t tiles, uint64_t tile_bytes) {
    rows_ = sequence_rows_;
    tiles_ = tiles;
    channel_bytes_ = tile_bytes;
}

} // namespace longwave::compiler
