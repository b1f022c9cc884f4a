#include "compiler/plan/planned_call.h"
#include "compiler/ir/op.h"
#include "compiler/plan/entry_plan.h"
#include "formats/package/json_text.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/pointwise.h"
#include "schedules/contract/kernels/positions.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace contract = schedules::contract;

namespace {

nlohmann::json to_json(const ir::Attribute &attribute) {
    return std::visit([](const auto &value) { return nlohmann::json(value); }, attribute);
}

// An argument of one tile alone.
Place tile_of(Place place, uint32_t tile) {
    place.offset += tile * place.tile_bytes;
    place.tile_bytes = 0;
    place.slot_add = (place.slot_add + tile) % place.slots;
    return place;
}

Scalar tile_of(Scalar scalar, uint32_t tile) {
    if (scalar.kind != Scalar::Kind::slot) return scalar;
    scalar.value += static_cast<int32_t>(tile) * scalar.tile_mul;
    scalar.tile_mul = 0;
    scalar.add = (scalar.add + tile) % scalar.modulus;
    return scalar;
}

} // namespace

PlannedCall::PlannedCall(EntryPlanner &planner, const Region &region)
    : KernelCall(planner.contexts_[region.anchor]), planner_(planner), region_(region) {
    all_rows_ = planner.rows_of(region.output);
    rows_ = context.streaming ? all_rows_ : EntryPlanner::rows_of_call(all_rows_, context.device.tiles);
    tiles_ = (all_rows_ + rows_ - 1) / rows_;
}

// ---- tiling ----

void PlannedCall::one_call() {
    rows_ = all_rows_;
    tiles_ = 1;
}

void PlannedCall::ordered_tiles(uint32_t rows) {
    rows_ = rows;
    tiles_ = (all_rows_ + rows - 1) / rows;
    ordered_ = true;
}

void PlannedCall::ordered_parts(uint32_t parts) {
    ordered_tiles(1);
    parts_ = parts;
    tiles_ *= parts;
}

void PlannedCall::channel_tiles(uint32_t tiles, uint64_t tile_bytes) {
    rows_ = all_rows_;
    tiles_ = tiles;
    channel_bytes_ = tile_bytes;
}

// ---- where rows lie ----

Place PlannedCall::rows_place(ir::ValueId value) const {
    const Stored &s = planner_.stored(value);
    Place place{
        .buffer = s.buffer, .offset = uint64_t{s.history} * s.row_bytes, .tile_bytes = channel_bytes_};
    if (context.streaming && s.ring > s.rows) {
        place.slots = s.ring / s.rows;
        place.slot_bytes = uint64_t{s.rows} * s.row_bytes;
    }
    if (channel_bytes_ == 0 && tiles_ > 1) place.tile_bytes = uint64_t{rows_} * s.row_bytes / parts_;
    return place;
}

Place PlannedCall::rows_of(size_t input) {
    count_rows(node.inputs[input], rows_);
    return rows_place(node.inputs[input]);
}

Place PlannedCall::packed(const std::string &name, Packed numbers) {
    weight_bytes_ += numbers.bytes.size();
    return stored(name, std::move(numbers));
}

Place PlannedCall::all_rows_of(size_t input) {
    Place place = rows_place(node.inputs[input]);
    place.tile_bytes = channel_bytes_;
    return place;
}

ir::Ring PlannedCall::ring_of(size_t input, uint32_t reads, uint32_t ahead) {
    const ir::ValueId value =
        region_.producer && input == 0 ? region_.producer->inputs[0] : node.inputs[input];
    const Stored &s = planner_.stored(value);
    count_rows(value, s.ring);
    const uint32_t fresh = all_rows_ * reads, of_tile = rows_ * reads;
    Scalar position{.kind = Scalar::Kind::slot, .tile_mul = tiles_ > 1 ? static_cast<int32_t>(of_tile) : 0},
        filled{.value = static_cast<int32_t>(s.ring)};
    if (context.streaming) {
        position.modulus = s.ring / fresh;
        position.mul = static_cast<int32_t>(fresh);
        filled.kind = Scalar::Kind::filled; // all rows of the call are written before its first tile
        filled.mul = static_cast<int32_t>(fresh);
        filled.add = fresh;
    } else {
        position.value = static_cast<int32_t>(s.history + ahead);
    }
    return {.place = {.buffer = s.buffer}, .position = position, .rows = s.ring, .filled = filled};
}

std::optional<ir::ChannelHistory> PlannedCall::channels_of_past() {
    const Ring &ring = planner_.channel_rings_[node.inputs[0]];
    if (ring.again == 0) return std::nullopt;
    const uint32_t rows = planner_.rows_of(node.inputs[0]);
    return ir::ChannelHistory{.place = {.buffer = ring.field},
                              .position = {.kind = Scalar::Kind::slot,
                                           .mul = static_cast<int32_t>(rows),
                                           .modulus = ring.rows / rows},
                              .ring = ring.rows,
                              .again = ring.again};
}

ir::ResultRows PlannedCall::result_rows() {
    count_rows(region_.output, rows_);
    return {rows_place(region_.output)};
}

// Rows of a run that are known when it starts: those of the sequence, or the valid ones of one of
// its inputs.
Scalar PlannedCall::rows_scalar(Scalar::Kind kind, size_t input, uint32_t of) const {
    const auto clock = type(input).clock;
    return {.kind = kind,
            .value = static_cast<int32_t>(rows_of_input(input)),
            .mul = static_cast<int32_t>(clock.num),
            .modulus = clock.den,
            .add = of};
}

Scalar PlannedCall::length_of(size_t input) {
    return rows_scalar(Scalar::Kind::rows, input, whole_of(type(input)));
}

Scalar PlannedCall::valid_rows_of(size_t input) {
    // Each input of the model has its own number of valid rows.
    return rows_scalar(Scalar::Kind::length, input, planner_.input_of(node.inputs[input]));
}

void PlannedCall::epilogue(const std::string &op, Place rows) {
    epilogue_.push_back({{"op", op}});
    operands_.push_back(rows);
}

// ---- memory ----

Place PlannedCall::stored(const std::string &name, Packed packed) {
    return {.buffer = planner_.storage_.weights(node.layer + "." + name, std::move(packed))};
}

Place PlannedCall::derived(const std::string &key, Elem elem, const std::vector<uint32_t> &dims,
                           bool *fresh) {
    // Two ops of a layer may derive by the same key, but not from the same constants.
    const std::string own = fmt::format("{} {}{}", key, node.op->name, suffix());
    return {.buffer = planner_.storage_.derived(own, bytes_of(elem, dims), fresh)};
}

// An offline run has no stream: it starts from zeros in its arena.
Place PlannedCall::zeros_in_arena(const std::string &name, Elem elem, const std::vector<uint32_t> &dims) {
    const std::string full = fmt::format("{} {}{}", node.layer, name, suffix());
    const uint64_t bytes = bytes_of(elem, dims);
    const BufferId id = planner_.buffer(full, Space::arena, bytes);
    planner_.plan_.steps.push_back(planner_.clear(id, 0, bytes, full));
    return {.buffer = id};
}

// The numbers that a stream begins with, copied at the start of each run.
Place PlannedCall::begun_in_arena(const std::string &name, Packed initial) {
    const std::string full = fmt::format("{} {}{}", node.layer, name, suffix());
    const uint32_t width = initial.dims.back();
    const uint64_t bytes = bytes_of(initial.elem, initial.dims);
    const Place to{.buffer = planner_.buffer(full, Space::arena, bytes)};
    Step step{.name = full + " begins", .layer = node.layer, .writes = 1};
    ir::set_kernel<contract::Pointwise>(step, {.width = width, .rows = bytes / sizeof(float) / width},
                                        {.x = stored("initial " + name, std::move(initial)), .y = to});
    planner_.plan_.steps.push_back(std::move(step));
    return to;
}

Place PlannedCall::memory(const std::string &name, Elem elem, const std::vector<uint32_t> &dims, Life life) {
    if (life == Life::open) {
        EntryPlan &prepare = planner_.storage_.prepare();
        prepare.buffers.push_back({.name = name, .space = Space::arena, .bytes = bytes_of(elem, dims)});
        return {.buffer = static_cast<BufferId>(prepare.buffers.size() - 1)};
    }
    if (life == Life::past && !context.streaming) return zeros_in_arena(name, elem, dims);
    return {.buffer =
                planner_.buffer(fmt::format("{} {}{}", node.layer, name, suffix()),
                                life == Life::past ? Space::cache : Space::arena, bytes_of(elem, dims))};
}

Place PlannedCall::carried(const std::string &name, Packed initial) {
    std::vector<ir::Type> types;
    for (size_t i = 0; i < node.inputs.size(); i++) types.push_back(type(i));
    const bool zeros = initial.dims.empty();
    Place place;
    for (const ir::Carry &carry : node.op->stream(node, types).carries) {
        if (name != carry.name) continue;
        if (!context.streaming)
            return zeros ? zeros_in_arena(name, carry.elem, carry.dims)
                         : begun_in_arena(name, std::move(initial));
        place = {.buffer = planner_.record_.carry(node.layer, name + suffix(), node.op->name, carry.elem,
                                                  carry.dims)};
        if (!zeros)
            planner_.record_.begin(place.buffer, stored("initial " + name, std::move(initial)).buffer);
        return place;
    }
    return place;
}

Expected<std::optional<Place>> PlannedCall::host_scalar(const HostScalar &scalar, const std::string &carry) {
    planner_.plan_.host_scalars.push_back(scalar.name);
    if (!context.streaming) return std::optional<Place>();
    const std::vector<float> numbers(host_scalar_numbers, scalar.initial);
    const Place place = carried(carry, Packed::f32({host_scalar_numbers}, numbers));
    LW_TRY(planner_.record_.hold(place.buffer, scalar));
    return std::optional(place);
}

ir::Count PlannedCall::count_of(const std::string &name) {
    const Place count = carried(name);
    if (context.device.kernels_count_rows) return {.state = count};
    Step moves_on{
        .kind = Step::Kind::call, .name = fmt::format("{} count_rows", node.layer), .layer = node.layer};
    fires(moves_on);
    ir::set_kernel<contract::CountRows>(moves_on, {.rows = all_rows_}, {.count = count});
    planner_.plan_.steps.push_back(std::move(moves_on));
    return {.counts = false, .so_far = count};
}

// ---- what is fused behind, and the steps ----

Status PlannedCall::fuse(const ir::Node &op, ir::ValueId value) {
    nlohmann::json entry{{"op", op.op->name}};
    for (const auto &[name, attribute] : op.attributes) entry[name] = to_json(attribute);
    // The value itself may stand anywhere among the inputs of what commutes, and more than once.
    const auto itself = std::find(op.inputs.begin(), op.inputs.end(), value) - op.inputs.begin();
    for (size_t i = 0; i < op.inputs.size(); i++) {
        if (static_cast<ptrdiff_t>(i) == itself) continue;
        const ir::Constant *constant = graph().constant(op.inputs[i]);
        if (op.op->pointwise == ir::Pointwise::with_channels) {
            if (!constant)
                return Status::input(fmt::format("the operands of {} must be constants", op.op->name));
            const std::vector<float> row = graph().type(op.output).packed(constant->data);
            Place place{.buffer =
                            planner_.storage_.weights(fmt::format("{}.{}.{}", op.layer, op.op->name, i),
                                                      Packed::f32({static_cast<uint32_t>(row.size())}, row))};
            place.tile_bytes = channel_bytes_;
            operands_.push_back(place);
        } else {
            if (constant)
                return Status::input(
                    fmt::format("an operand of {} must be a value with rows, not a constant", op.op->name));
            operands_.push_back(rows_place(op.inputs[i]));
        }
    }
    epilogue_.push_back(std::move(entry));
    return Status::ok();
}

// When it fires.
void PlannedCall::fires(Step &step) const {
    if (!context.streaming) return;
    const Pace pace = planner_.pace(region_.output);
    step.period = pace.period;
    step.phase = pace.phase;
}

Step PlannedCall::step(std::optional<uint32_t> tile) const {
    Step step{.kind = Step::Kind::call,
              .name = fmt::format("{} {}", node.layer, call_.specification.kernel),
              .layer = node.layer};
    step.tiles = tile ? 1 : tiles_;
    step.ordered = ordered_ && step.tiles > 1;
    step.cost = cost_;
    step.writes = call_.outputs.size();
    fires(step);
    const auto add = [&](const auto &argument) {
        step.args.emplace_back(tile ? tile_of(argument, *tile) : argument);
    };
    for (const auto *places :
         {&std::as_const(call_.inputs), &std::as_const(call_.weights), &std::as_const(operands_)})
        for (const Place &place : *places) add(place);
    for (const Scalar &scalar : call_.scalars) add(scalar);
    for (const Place &place : call_.outputs) add(place);
    step.spec = spec(step);
    return step;
}

std::string PlannedCall::spec(const Step &step) const {
    nlohmann::json spec = ir::spec_json(call_.specification);
    if (!epilogue_.empty()) spec["epilogue"] = epilogue_;
    for (size_t a = 0; a < step.args.size(); a++)
        if (const auto *place = std::get_if<Place>(&step.args[a]); place && lies_by_channel(place->buffer))
            package::list_in(spec, "channel_major").push_back(a);
    return spec.dump();
}

std::vector<double> PlannedCall::load(uint32_t blocks) const {
    std::vector<double> load(blocks, 0.0);
    for (const Step &step : planner_.plan_.steps) {
        if (step.period == 1) continue;
        const double share = step.period > blocks ? double(blocks) / step.period : 1;
        for (uint32_t b = step.phase % blocks; b < blocks; b += step.period) load[b] += step.cost * share;
    }
    return load;
}

// The same call with its rows written where nobody reads them.
Step PlannedCall::discarding_output(Step step) const {
    const Stored &s = planner_.stored(region_.output);
    const BufferId discarded =
        planner_.buffer(node.layer + " discarded", Space::arena, uint64_t{all_rows_} * s.row_bytes);
    const size_t argument = step.args.size() - call_.outputs.size() + call_.result;
    step.args[argument] =
        Place{.buffer = discarded, .tile_bytes = std::get<Place>(step.args[argument]).tile_bytes};
    step.replay_from = replay_;
    return step;
}

void PlannedCall::finish() {
    if (pays_for_streams()) planner_.plan_.for_streams.insert(spec(step()));
    if (context.streaming && replay_) planner_.plan_.rebuild.push_back(discarding_output(step()));
    if (context.device.tiles || tiles_ == 1) {
        planner_.plan_.steps.push_back(step());
        return;
    }
    // A step is one dispatch there, so each tile is a step.
    for (uint32_t tile = 0; tile < tiles_; tile++) planner_.plan_.steps.push_back(step(tile));
}

void PlannedCall::also(Step step, uint32_t replay) {
    if (context.streaming && replay) {
        planner_.plan_.rebuild.push_back(step);
        planner_.plan_.rebuild.back().replay_from = replay;
    }
    planner_.plan_.steps.push_back(std::move(step));
}

} // namespace longwave::compiler
