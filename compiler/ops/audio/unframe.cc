// unframe: overlap-add, the counterpart of frame. Frames of `window` values, one for every `hop`, are added
// where they overlap. A row of the result has the `hop` values that no later frame reaches:
//     y[t][i] = sum over j of x[t + ahead - j][j·hop + i]
// With `ahead` 0 a row is complete with its own frame, and begins where that frame begins. `ahead` rows more
// leave out as many rows at the start, so that row t has what the samples of hop t became if frame t ended
// with them: a stream of it comes so many rows late.
// A stream keeps the sums of the hops that the frames so far reach, in place of the frames (overlap_add).
// Only where it waits longer than it must, for whole ticks, does it keep frames (late_unframe). Source: Allen
// and Rabiner, "A unified approach to short-time Fourier analysis and synthesis", 1977, eq. 10.
#include "compiler/ir/builder.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/late.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/audio.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr uint32_t longest = 1 << 20;
constexpr uint32_t most_pieces = 1 << 10; // frames that overlap

uint32_t pieces_of(const Node &node) {
    return static_cast<uint32_t>((node.integer("window") + node.integer("hop") - 1) / node.integer("hop"));
}

uint32_t ahead_of(const Node &node) { return static_cast<uint32_t>(node.integer("ahead")); }

// Rows that a stream waits beyond those that it needs.
uint32_t later_of(const Node &node) {
    return node.has("later") ? static_cast<uint32_t>(node.integer("later")) : 0;
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_ASSIGN(const uint32_t window, rules::integer(node, "window", 1, longest));
    LW_ASSIGN(const uint32_t hop, rules::integer(node, "hop", 1, window));
    if (pieces_of(node) > most_pieces)
        return Status::input(
            fmt::format("{} frames overlap: expected at most {}", pieces_of(node), most_pieces));
    LW_TRY(rules::integer(node, "ahead", 0, pieces_of(node) - 1 + later_of(node)).status());
    if (in[0].dims[0] != window)
        return Status::input(
            fmt::format("expected frames of {} values, found {}", window, rules::text(in[0].dims)));
    Type type = in[0];
    type.dims = {hop};
    type.causal = type.causal && ahead_of(node) == 0;
    return type;
}

StreamRule stream(const Node &node, std::span<const Type>) {
    const uint32_t ahead = ahead_of(node);
    StreamRule rule = history(pieces_of(node) - 1 - ahead);
    rule.ahead = ahead;
    if (ahead) rule.looks_ahead = fmt::format("its rows end with the frame {} rows after their own", ahead);
    return rule;
}

uint32_t reach(const Node &node, std::span<const Type>) {
    return std::max(pieces_of(node) - 1 - ahead_of(node), ahead_of(node));
}

Expected<Type> infer_late(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(Type type, infer(node, in));
    type.delay = in[0].delay + ticks_of_rows(ahead_of(node), in[0].clock);
    return type;
}

StreamRule stream_sums(const Node &node, std::span<const Type>) {
    const uint32_t row = schedules::pad(static_cast<uint32_t>(node.integer("hop")));
    return {.ahead = ahead_of(node), .carries = {{"sums", Elem::f32, {pieces_of(node) - 1, row}}}};
}

StreamRule stream_late(const Node &node, std::span<const Type>) {
    return {.history = pieces_of(node) - 1 + later_of(node), .ahead = ahead_of(node)};
}

Expected<ValueId> streamed(Rewriter &rewrite, const Node &node) {
    if (pieces_of(node) == 1) return rewrite.keep(node);
    Builder &to = rewrite.to();
    const ValueId x = rewrite.map(node.inputs[0]);
    const uint32_t ahead = ahead_of(node), waits = in_whole_ticks(ahead, to.graph().type(x).clock);
    Attributes attributes = node.attributes;
    if (waits == ahead) return to.node(op_overlap_add.name, {x}, attributes, node.layer);
    attributes["ahead"] = int64_t{waits};
    attributes["later"] = int64_t{waits - ahead};
    return to.node(op_late_unframe.name, {x}, attributes, node.layer);
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto hop = static_cast<size_t>(node.integer("hop")),
               window = static_cast<size_t>(node.integer("window"));
    const auto ahead = static_cast<ptrdiff_t>(ahead_of(node) - later_of(node)),
               rows = static_cast<ptrdiff_t>(in[0]->rows);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t j = 0; j < pieces_of(node); ++j) {
            const ptrdiff_t frame = static_cast<ptrdiff_t>(t) + ahead - static_cast<ptrdiff_t>(j);
            for (size_t i = 0; i < hop && j * hop + i < window && frame >= 0 && frame < rows; ++i)
                out.row(t)[i] += in[0]->row(static_cast<size_t>(frame))[j * hop + i];
        }
}

Status kernel(KernelCall &call) {
    const Ring x = call.ring_of(0, 1, call.context.streaming ? 0 : ahead_of(call.node));
    call.kernel<contract::Unframe>({.window = call.node.integer("window"),
                                    .hop = call.node.integer("hop"),
                                    .rows = call.rows(),
                                    .ring = x.rows,
                                    .later = later_of(call.node)},
                                   {.x = x.place, .position = x.position, .y = call.result_rows()});
    return Status::ok();
}

Status add_to_sums(KernelCall &call) {
    call.one_call();
    call.kernel<contract::OverlapAdd>(
        {.window = call.node.integer("window"), .hop = call.node.integer("hop"), .rows = call.rows()},
        {.x = call.rows_of(0), .y = call.result_rows(), .sums = call.state("sums")});
    return Status::ok();
}

} // namespace

const OpDef op_unframe{
    .name = "unframe",
    .attributes = {{"window", AttributeDef::Kind::integer},
                   {"hop", AttributeDef::Kind::integer},
                   {"ahead", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .reach = reach,
    .end = EndRule::clear, // only frames ahead read rows after the end
    .begins_late = true,
    .no_epilogue = true,
    .kernel = kernel,
    .streamed = streamed,
    .reference = reference,
};

const OpDef op_overlap_add{
    .name = "overlap_add",
    .attributes = {{"window", AttributeDef::Kind::integer},
                   {"hop", AttributeDef::Kind::integer},
                   {"ahead", AttributeDef::Kind::integer}},
    .infer = infer_late,
    .stream = stream_sums,
    .begins_late = true,
    .of_passes = true,
    .no_epilogue = true,
    .kernel = add_to_sums,
    .reference = reference,
};

const OpDef op_late_unframe{
    .name = "late_unframe",
    .attributes = {{"window", AttributeDef::Kind::integer},
                   {"hop", AttributeDef::Kind::integer},
                   {"ahead", AttributeDef::Kind::integer},
                   {"later", AttributeDef::Kind::integer}},
    .infer = infer_late,
    .stream = stream_late,
    .begins_late = true,
    .of_passes = true,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
