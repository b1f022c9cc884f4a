// linear: a matrix times the features of a row, plus a bias. Features are counted logically:
// (frequency, channel) at f·C + c. `skip_mask`: a further input says whether anybody reads the
// result (skip_mask.h).
#include "compiler/base/parallel.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/linear/skip_mask.h"
#include "compiler/ops/support/rules.h"
#include "compiler/ops/support/sums.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t bias, rules::flag(node, "bias"));
    LW_TRY(weight_format(node).status());
    LW_TRY(check_activation_steps(node));
    LW_TRY(rules::count(in, 2 + bias + has_skip_mask(node)));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::operand(in[1], "weight", {0, in[0].width()}));
    const uint32_t features = in[1].dims[0];
    if (bias) LW_TRY(rules::operand(in[2], "bias", {features}));
    Type type = in[0];
    if (has_skip_mask(node)) {
        LW_TRY(rules::real(in.back()));
        LW_TRY(rules::integer(node, skip_mask_attribute.name, 0, in.back().width() - 1).status());
        type.causal = type.causal && in.back().causal;
    }
    type.dims = {features};
    return type;
}

// Rows in groups, so that large weights are read once for many of them.
void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    constexpr size_t group = 4 * sums_together;
    const Operand &x = *in[0];
    const bool bias = node.integer("bias") != 0;
    std::vector<double> features(x.width * group); // [four][in][together]
    for (size_t first = 0; first < out.rows; first += group) {
        const size_t rows = std::min(group, out.rows - first);
        for (size_t t = 0; t < rows; ++t)
            for (size_t i = 0; i < x.width; ++i)
                features[(t / sums_together * x.width + i) * sums_together + t % sums_together] =
                    x.row(first + t)[i];
        in_parts(out.width, context.workers, [&](size_t begin, size_t end) {
            for (size_t o = begin; o < end; ++o) {
                const std::vector<double> weights = in[1]->data.copy(o * x.width, x.width);
                for (size_t t = 0; t < rows; t += sums_together) {
                    double sums[sums_together];
                    std::fill(std::begin(sums), std::end(sums), bias ? in[2]->data[o] : 0.0);
                    add_products(weights.data(), features.data() + t * x.width, x.width, sums);
                    for (size_t n = 0; n < std::min(sums_together, rows - t); ++n)
                        out.row(first + t + n)[o] = sums[n];
                }
            }
        });
    }
}

bool absorb_consumer(const Node &, const Node &consumer) { return consumer.op == &op_glu; }

bool is_product(const Graph &graph, const Node &node) { return graph.constant(node.inputs[1]) != nullptr; }

// A gate halves the outputs.
bool takes_groups(const Graph &graph, const Node &node) {
    return graph.type(node.inputs[0]).dims.size() == 1 && graph.type(node.inputs[1]).dims[0] > 2;
}

} // namespace

const OpDef op_linear{
    .name = "linear",
    .attributes = {{"bias", AttributeDef::Kind::integer},
                   stored_weights,
                   activation_steps,
                   skip_mask_attribute},
    .infer = infer,
    .stream = row_by_row,
    .absorb_consumer = absorb_consumer,
    .kernel = product,
    .rewrites = {.fold_result = fold_result_into_weights,
                 .fold_input = fold_input_into_weights,
                 .is_product = is_product,
                 .takes_groups = takes_groups},
    .reference = reference,
};

// Times an identity: 1·x + 0·y is x, bit for bit.
Expected<ValueId> make_plain_row(Builder &to, ValueId x, const std::string &layer) {
    const uint32_t n = to.graph().type(x).width();
    std::vector<float> matrix(size_t{n} * n, 0.f);
    for (uint32_t i = 0; i < n; ++i) matrix[size_t{i} * n + i] = 1.f;
    const ValueId identity = to.constant("identity", {n, n}, SharedArray<float>(std::move(matrix)));
    return to.node(op_linear.name, {x, identity}, {{"bias", int64_t{0}}}, layer);
}

} // namespace longwave::ir
