// rotary: rotates pairs of features of each head by tΘ, with one Θ per pair, the same for all heads
// (RoFormer, Su et al. 2021, Eq. 34). Features after the rotated ones pass unchanged.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/attention/positions.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/positions.h"
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_ASSIGN(const uint32_t heads, rules::integer(node, "heads", 1, 1 << 12));
    LW_TRY(rules::flag(node, "interleaved").status());
    LW_TRY(rules::rank(in[1], 1));
    const uint64_t rotated = uint64_t{2} * heads * in[1].dims[0];
    LW_TRY(rules::operand(in[1], "theta", {in[1].dims[0]}));
    if (rotated > in[0].dims[0])
        return Status::input(fmt::format("{} heads of {} pairs do not fit into rows of {} features", heads,
                                         in[1].dims[0], in[0].dims[0]));
    return in[0];
}

StreamRule stream(const Node &, std::span<const Type>) { return {.carries = {{"position", Elem::f64, {1}}}}; }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const size_t heads = static_cast<size_t>(node.integer("heads")), pairs = in[1]->data.size();
    const bool interleaved = node.integer("interleaved") == 1;
    for (size_t t = 0; t < out.rows; ++t) {
        std::copy_n(in[0]->row(t), out.width, out.row(t));
        for (size_t h = 0; h < heads; ++h)
            for (size_t p = 0; p < pairs; ++p) {
                const size_t i = 2 * h * pairs + (interleaved ? 2 * p : p), j = i + (interleaved ? 1 : pairs);
                const double phase = static_cast<double>(t) * in[1]->data[p], x = in[0]->row(t)[i],
                             y = in[0]->row(t)[j];
                out.row(t)[i] = x * std::cos(phase) - y * std::sin(phase);
                out.row(t)[j] = y * std::cos(phase) + x * std::sin(phase);
            }
    }
}

Status kernel(KernelCall &call) {
    const auto pairs = static_cast<uint32_t>(call.constant(1).size());
    call.one_call();
    const Theta theta(call, {pairs});
    const Count count = call.count_of("position");
    call.kernel<contract::Rotary>({.heads = call.node.integer("heads"),
                                   .pairs = pairs,
                                   .width = call.type(0).dims[0],
                                   .rows = call.rows(),
                                   .interleaved = call.node.integer("interleaved"),
                                   .counts = count.counts},
                                  {.x = call.rows_of(0),
                                   .count_so_far = count.so_far,
                                   .theta_high = theta.high,
                                   .theta_low = theta.low,
                                   .y = call.result_rows(),
                                   .count = count.state});
    return Status::ok();
}

} // namespace

const OpDef op_rotary{
    .name = "rotary",
    .attributes = {{"heads", AttributeDef::Kind::integer}, {"interleaved", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
