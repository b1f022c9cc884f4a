// block_linear: a block-diagonal matrix times the features of a row, plus a bias. Output block j
// reads input block first + j.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/panels.h"
#include <numeric>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t bias, rules::flag(node, "bias"));
    LW_ASSIGN(const uint32_t first, rules::integer(node, "first", 0, 1 << 20));
    LW_TRY(rules::count(in, 2 + bias));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_TRY(rules::operand(in[1], "weight", {0, 0, 0}));
    const std::vector<uint32_t> &w = in[1].dims; // [blocks, out, in]
    if ((uint64_t{first} + w[0]) * w[2] > in[0].dims[0])
        return Status::input(fmt::format("{} blocks of {} features from block {} on: the row has {}", w[0],
                                         w[2], first, in[0].dims[0]));
    Type type = in[0];
    type.dims = {w[0] * w[1]};
    if (bias) LW_TRY(rules::operand(in[2], "bias", type.dims));
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const std::vector<uint32_t> &w = context.types[1].dims;
    const std::vector<double> weights = in[1]->data.to_vector();
    const auto first = static_cast<size_t>(node.integer("first"));
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t o = 0; o < out.width; ++o) {
            const double *x = in[0]->row(t) + (first + o / w[1]) * w[2];
            double sum = node.integer("bias") ? in[2]->data[o] : 0.0;
            for (size_t i = 0; i < w[2]; ++i) sum += weights[o * w[2] + i] * x[i];
            out.row(t)[o] = sum;
        }
}

// Blocks that consist of full panels: one multiplication per block, in order, in one kernel.
void in_panels(KernelCall &call, const std::vector<uint32_t> &w) {
    const uint32_t out = w[0] * w[1];
    schedules::PackedPanels packed({w[2], out});
    std::vector<uint32_t> inputs(w[2]);
    std::iota(inputs.begin(), inputs.end(), 0u);
    for (uint32_t o = 0; o < out; ++o)
        packed.set(o, 0, call.constant(1).copy(size_t{o} * w[2], w[2]), inputs);
    call.kernel("linear");
    call.param("in", w[2]);
    call.param("blocks", w[0]);
    call.param("first", call.node.integer("first") * w[2]);
    call.param("in_row", call.type(0).row());
    call.param("out", out);
    call.weight("weight", Packed::of(Elem::f32, {static_cast<uint32_t>(packed.words.size())}, packed.words));
}

// Weights [in of a block][outputs of all].
void side_by_side(KernelCall &call, const std::vector<uint32_t> &w) {
    const uint32_t out = w[0] * w[1], row = schedules::pad(out);
    std::vector<float> weights(size_t{w[2]} * row, 0.f);
    for (uint32_t o = 0; o < out; ++o)
        for (uint32_t i = 0; i < w[2]; ++i)
            weights[size_t{i} * row + o] = static_cast<float>(call.constant(1)[size_t{o} * w[2] + i]);
    call.kernel("block_linear");
    call.param("in", call.type(0).dims[0]);
    call.param("out", out);
    call.param("in_block", w[2]);
    call.param("out_block", w[1]);
    call.param("first", call.node.integer("first") * w[2]);
    call.weight("weight", weights);
}

Status kernel(KernelCall &call) {
    const std::vector<uint32_t> &w = call.type(1).dims;
    const uint32_t out = w[0] * w[1];
    const bool bias = call.node.integer("bias") != 0, panels = w[1] % schedules::lanes == 0;
    std::vector<float> values(schedules::pad(out), 0.f);
    for (uint32_t o = 0; bias && o < out; ++o) values[o] = static_cast<float>(call.constant(2)[o]);
    panels ? in_panels(call, w) : side_by_side(call, w);
    call.param("rows", call.rows());
    if (panels && bias) call.param("bias", int64_t{1});
    call.read_rows(0);
    if (bias || !panels) call.weight("bias", values);
    call.write();
    return Status::ok();
}

} // namespace

const OpDef op_block_linear{
    .name = "block_linear",
    .attributes = {{"bias", AttributeDef::Kind::integer}, {"first", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
