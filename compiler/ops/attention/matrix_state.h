// The matrix S that an op of linear attention hands from row to row, for each head:
//     S_t = decay_t S_(t−1) + b_t (a_tᵀ S_(t−1)) + k_t v_tᵀ,   o_t = q_t S_t
// One description gives the state of a stream, the reference, the forms of the kernel and their costs.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/dispatches.h"

namespace longwave::ir {

struct MatrixState {
    uint32_t heads = 1, key_heads = 1; // so many heads in a row share queries and keys
    uint32_t keys = 1, values = 1;     // of a head: S has a row for each key, and a column for each value
    // Names of the carries. A sum that grows, or moves by ever smaller steps, needs two floats an element.
    const char *high, *low; // low null: one float
    // As all kernels lay S out: tiles of value lanes outermost, each [rows of S, lanes].
    StreamRule stream() const;
};

// Of inputs q, any, v: every head has keys of its own.
inline MatrixState two_floats_a_head(uint32_t heads, std::span<const Type> in, const char *high,
                                     const char *low) {
    return {.heads = heads,
            .key_heads = heads,
            .keys = in[0].dims[0] / heads,
            .values = in[2].dims[0] / heads,
            .high = high,
            .low = low};
}

// An op with such a state.
struct MatrixOp {
    MatrixState (*state)(const Node &node, std::span<const Type> inputs);
    // ns per output element and row of S: of a pass over S, and of a row of a chunk (docs/kernels.md).
    double pass, of_chunk;
    // Name the kernel of one row, and of several.
    void (*one_row)(KernelCall &call, const MatrixState &state);
    void (*several_rows)(KernelCall &call, const MatrixState &state, uint32_t rows);
};
MatrixState matrix_of(const MatrixOp &op, const PlanContext &context);

Estimate estimate_step(const MatrixOp &op, const PlanContext &context);
Estimate estimate_chunk(const MatrixOp &op, const PlanContext &context);
Status plan_step(const MatrixOp &op, KernelCall &call);
Status plan_chunk(const MatrixOp &op, KernelCall &call);

// Forms over one state: a row a call, and chunks of a few rows; on a GPU as many rows as a dispatch surely
// computes.
template <const MatrixOp &op> struct MatrixForms {
    static StreamRule stream(const Node &node, std::span<const Type> in) {
        return op.state(node, in).stream();
    }
    static Estimate step_cost(const PlanContext &context) { return estimate_step(op, context); }
    static Estimate chunk_cost(const PlanContext &context) { return estimate_chunk(op, context); }
    static Status plan_steps(KernelCall &call) { return plan_step(op, call); }
    static Status plan_chunks(KernelCall &call) { return plan_chunk(op, call); }
    static Estimate scan_cost(const PlanContext &context);
    static const Algorithm step, chunk, scan;
};

Reach reach_row(const PlanContext &context, const Decisions &decisions);
// The rows of one dispatch, within the limits of every device.
Estimate estimate_scan(const MatrixOp &op, const PlanContext &context);

template <const MatrixOp &op> Estimate MatrixForms<op>::scan_cost(const PlanContext &context) {
    return estimate_scan(op, context);
}
template <const MatrixOp &op> const Algorithm MatrixForms<op>::step{.name = "step",
                                                                    .stream = devices::cpu_kernels,
                                                                    .estimate = step_cost,
                                                                    .reach = reach_row,
                                                                    .plan = plan_steps};
template <const MatrixOp &op> const Algorithm MatrixForms<op>::chunk{.name = "chunk",
                                                                     .stream = devices::cpu_kernels,
                                                                     .estimate = chunk_cost,
                                                                     .reach = reach_rows,
                                                                     .plan = plan_chunks};
template <const MatrixOp &op> const Algorithm MatrixForms<op>::scan{.name = "scan",
                                                                    .offline = devices::gpu_kernels,
                                                                    .stream = devices::gpu_kernels,
                                                                    .estimate = scan_cost,
                                                                    .reach = reach_rows,
                                                                    .plan = plan_chunks};

// What the definition reads of a row of time: `count` heads of each row of an input.
class OfHeads {
public:
    OfHeads(const Operand &of, size_t count) : of_(of), width_(of.width / count) {}
    const double *operator()(size_t t, size_t head) const { return of_.row(t) + head * width_; }

private:
    const Operand &of_;
    const size_t width_;
};

// The definition, in float64. `kept(t, head, i)`: what is left of row i of S. `rank_one`: a and b, or
// nothing.
template <class Kept> void recurrence(const MatrixState &s, const Operand &q, const Operand &k,
                                      const Operand &v, const Kept &kept, Array &out,
                                      std::span<const Operand *const> rank_one = {}) {
    const size_t shared = s.heads / s.key_heads, n = s.keys, m = s.values;
    const OfHeads query(q, s.key_heads), key(k, s.key_heads), value(v, s.heads);
    std::vector<double> state(s.heads * n * m, 0.0), read(m);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t h = 0; h < s.heads; ++h) {
            const auto at = [&](size_t i, size_t c) -> double & { return state[(h * n + i) * m + c]; };
            if (!rank_one.empty()) {
                std::fill(read.begin(), read.end(), 0.0);
                for (size_t i = 0; i < n; ++i)
                    for (size_t c = 0; c < m; ++c)
                        read[c] += OfHeads(*rank_one[0], s.heads)(t, h)[i] * at(i, c);
            }
            for (size_t i = 0; i < n; ++i)
                for (size_t c = 0; c < m; ++c) {
                    double &element = at(i, c);
                    element = kept(t, h, i) * element + key(t, h / shared)[i] * value(t, h)[c];
                    if (!rank_one.empty())
                        element += OfHeads(*rank_one[1], s.key_heads)(t, h / shared)[i] * read[c];
                    out.row(t)[h * m + c] += query(t, h / shared)[i] * element;
                }
        }
}

} // namespace longwave::ir
