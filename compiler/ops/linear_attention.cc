// linear_attention: causal attention without a softmax. For each head o_t = q_t·S_t with S_t = Σ_{τ ≤ t} k_τ
// v_τᵀ, a matrix of dk × dv (CHELA, Eq. 9 without its norm; models.md §2.1). The matrix is the stream's
// state: two floats for each element, because it grows with every row.
#include "compiler/ops/attention.h"
#include "compiler/ops/kernel_call.h"
#include "compiler/ops/rules.h"
#include "schedules/kernel.h"
#include <algorithm>

namespace longwave::ir {
namespace {

using attention::heads_of;

// S high and low, as its kernels lay it out: tiles of value lanes outermost, each [dk, lanes].
StreamRule stream(const Node &node, std::span<const Type> in) {
    const std::vector<uint32_t> dims{schedules::pad(in[2].dims[0]), in[0].dims[0] / heads_of(node)};
    return {.carries = {{"S high", Elem::f32, dims}, {"S low", Elem::f32, dims}}};
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const size_t heads = heads_of(node), dk = in[0]->width / heads, dv = in[2]->width / heads;
    std::vector<double> s(heads * dk * dv, 0.0);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t h = 0; h < heads; ++h)
            for (size_t i = 0; i < dk; ++i)
                for (size_t c = 0; c < dv; ++c) {
                    double &element = s[(h * dk + i) * dv + c];
                    element += in[1]->row(t)[h * dk + i] * in[2]->row(t)[h * dv + c];
                    out.row(t)[h * dv + c] += in[0]->row(t)[h * dk + i] * element;
                }
}

// ---- two forms over one state ----

constexpr uint32_t longest_chunk = 16;

// Rows of one call: of a whole sequence any, for the last chunk may reach beyond its end; of a block a
// divisor.
uint32_t chunk_rows(const Situation &situation) {
    if (!situation.streaming) return std::min(longest_chunk, std::max(2u, situation.rows));
    uint32_t chunk = longest_chunk;
    while (situation.rows % chunk) chunk--;
    return chunk;
}

uint32_t key_width(const Situation &situation) {
    return situation.type(0).dims[0] / heads_of(situation.node);
}

// Figures of Sapphire Rapids, ns an output element and row of S (spec of the kernels: schedules/README.md).
Estimate estimate_step(const Situation &situation) { return {.cost = 0.23 * key_width(situation)}; }

Estimate estimate_chunk(const Situation &situation) {
    const uint32_t rows = chunk_rows(situation);
    if (rows < 2)
        return {.refused = fmt::format("a block of {} rows does not divide into chunks of 2 to {}",
                                       situation.rows, longest_chunk)};
    Estimate estimate{.cost = key_width(situation) * (0.06 + 0.23 / rows)};
    estimate.figures.put("rows", rows);
    return estimate;
}

Reach reach_step(const Situation &, const Figures &) { return {}; }
Reach reach_chunk(const Situation &situation, const Figures &figures) {
    return {.multiple = situation.streaming ? 1 : figures.at("rows")};
}

void plan(KernelCall &call, uint32_t rows) {
    const uint32_t heads = heads_of(call.node);
    call.ordered_tiles(rows);
    call.param("heads", heads);
    call.param("dk", call.type(0).dims[0] / heads);
    call.param("dv", call.type(2).dims[0] / heads);
    for (size_t input = 0; input < 3; ++input) call.read_rows(input);
    call.carry("S high");
    call.carry("S low");
    call.write();
}

Status plan_step(KernelCall &call) {
    call.kernel("linear_attention_step");
    plan(call, 1);
    return Status::ok();
}

Status plan_chunk(KernelCall &call) {
    const uint32_t rows = call.figures().at("rows");
    call.kernel("linear_attention_chunk");
    call.param("rows", rows);
    plan(call, rows);
    return Status::ok();
}

const Algorithm step{.name = "step", .estimate = estimate_step, .reach = reach_step, .plan = plan_step};
const Algorithm chunk{.name = "chunk", .estimate = estimate_chunk, .reach = reach_chunk, .plan = plan_chunk};
const Algorithm *const algorithms[] = {&step, &chunk};

} // namespace

const OpDef op_linear_attention{
    .name = "linear_attention",
    .attributes = {{"heads", AttributeDef::Kind::integer}},
    .infer = attention::infer,
    .stream = stream,
    .plain_result = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
