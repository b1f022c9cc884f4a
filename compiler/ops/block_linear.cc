// block_linear: a block-diagonal matrix times the features of a row, plus a bias: block j reads input
// block first + j.
#include "compiler/ops/kernel_call.h"
#include "compiler/ops/rules.h"
#include "schedules/kernel.h"

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

// Weights [in of a block][outputs of all].
Status kernel(KernelCall &call) {
    const std::vector<uint32_t> &w = call.type(1).dims;
    const uint32_t out = w[0] * w[1], row = schedules::pad(out);
    std::vector<float> weights(size_t{w[2]} * row, 0.f), bias(row, 0.f);
    for (uint32_t o = 0; o < out; ++o) {
        for (uint32_t i = 0; i < w[2]; ++i)
            weights[size_t{i} * row + o] = static_cast<float>(call.constant(1)[size_t{o} * w[2] + i]);
        if (call.node.integer("bias")) bias[o] = static_cast<float>(call.constant(2)[o]);
    }
    call.kernel("block_linear");
    call.param("in", call.type(0).dims[0]);
    call.param("out", out);
    call.param("in_block", w[2]);
    call.param("out_block", w[1]);
    call.param("first", call.node.integer("first") * w[2]);
    call.param("rows", call.rows());
    call.read_rows(0);
    call.weight("weight", weights);
    call.weight("bias", bias);
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
