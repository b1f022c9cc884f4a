// block_linear: a block-diagonal matrix times the features of a row, plus a bias. Output block j
// reads input block first + j.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/linear.h"
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
void in_panels(KernelCall &call, const std::vector<uint32_t> &w, const std::vector<float> &bias) {
    const uint32_t out = w[0] * w[1];
    schedules::PackedPanels packed({w[2], out});
    std::vector<uint32_t> inputs(w[2]);
    std::iota(inputs.begin(), inputs.end(), 0u);
    for (uint32_t o = 0; o < out; ++o)
        packed.set(o, 0, call.constant(1).copy(size_t{o} * w[2], w[2]), inputs);
    const bool biased = call.node.integer("bias") != 0;
    call.kernel<contract::Linear>(
        {.in = w[2],
         .out = out,
         .rows = call.rows(),
         .bias = biased,
         .blocks = w[0],
         .first = call.node.integer("first") * w[2],
         .in_row = call.type(0).row()},
        {.x = call.rows_of(0),
         .w = call.packed("weight",
                          Packed::of(Elem::f32, {static_cast<uint32_t>(packed.words.size())}, packed.words)),
         .bias = biased ? Given::Weight(call.packed("bias", bias)) : Given::Weight(),
         .y = call.result_rows()});
}

// Weights [in of a block][outputs of all].
void side_by_side(KernelCall &call, const std::vector<uint32_t> &w, const std::vector<float> &bias) {
    const uint32_t out = w[0] * w[1], row = schedules::pad(out);
    std::vector<float> weights(size_t{w[2]} * row, 0.f);
    for (uint32_t o = 0; o < out; ++o)
        for (uint32_t i = 0; i < w[2]; ++i)
            weights[size_t{i} * row + o] = static_cast<float>(call.constant(1)[size_t{o} * w[2] + i]);
    call.kernel<contract::BlockLinear>({.in = call.type(0).dims[0],
                                        .out = out,
                                        .rows = call.rows(),
                                        .in_block = w[2],
                                        .out_block = w[1],
                                        .first = call.node.integer("first") * w[2]},
                                       {.x = call.rows_of(0),
                                        .w = call.packed("weight", weights),
                                        .bias = call.packed("bias", bias),
                                        .y = call.result_rows()});
}

Status kernel(KernelCall &call) {
    const std::vector<uint32_t> &w = call.type(1).dims;
    const uint32_t out = w[0] * w[1];
    std::vector<float> bias(schedules::pad(out), 0.f);
    for (uint32_t o = 0; call.node.integer("bias") && o < out; ++o)
        bias[o] = static_cast<float>(call.constant(2)[o]);
    if (w[1] % schedules::lanes == 0) in_panels(call, w, bias);
    else side_by_side(call, w, bias);
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
