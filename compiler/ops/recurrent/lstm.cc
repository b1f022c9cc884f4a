// lstm: the recurrence of a long short-term memory. With the four parts of x and of weight·h[t−1]
// side by side:
//     i, f, g, o = x + weight·h[t−1],   c[t] = σ(f) c[t−1] + σ(i) tanh(g),   h[t] = σ(o) tanh(c[t])
// The result is h. Both states begin with zeros, or with the rows of a third input {2, units}: h and
// c. x is a linear op of the layer's input, with all biases.
#include "compiler/ir/builder.h"
#include "compiler/ops/recurrent/gates.h"
#include <cmath>

namespace longwave::ir {
namespace {

constexpr uint32_t parts = 4;

Expected<Type> infer(const Node &, std::span<const Type> in) {
    if (in.size() != 3) LW_TRY(rules::count(in, 2));
    LW_ASSIGN(const Type type, gates::infer(in, parts));
    if (in.size() == 3) LW_TRY(rules::operand(in[2], "initial", {2, type.dims[0]}));
    return type;
}

StreamRule stream(const Node &, std::span<const Type> in) {
    const uint32_t width = schedules::pad(in[0].dims[0] / parts);
    return {.carries = {{"h", Elem::f32, {width}}, {"c", Elem::f32, {width}}}};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// `c`: before the first row, and then behind the last.
void run(std::span<const Operand *const> in, Array &out, std::vector<double> &c) {
    std::vector<double> h(out.width);
    if (in.size() == 3)
        for (size_t i = 0; i < out.width; ++i) h[i] = in[2]->data[i], c[i] = in[2]->data[out.width + i];
    for (size_t t = 0; t < out.rows; ++t) {
        std::vector<double> gate[parts];
        for (size_t g = 0; g < parts; ++g) {
            const double *x = in[0]->row(t) + g * out.width;
            gate[g].assign(x, x + out.width);
            gates::add_product(*in[1], g * out.width, h, gate[g]);
        }
        for (size_t i = 0; i < out.width; ++i) {
            c[i] = logistic(gate[1][i]) * c[i] + logistic(gate[0][i]) * std::tanh(gate[2][i]);
            h[i] = logistic(gate[3][i]) * std::tanh(c[i]);
            out.row(t)[i] = h[i];
        }
    }
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    std::vector<double> c(out.width);
    run(in, out, c);
}

Expected<ValueId> begun(Rewriter &rewrite, const Node &node, std::span<const Operand *const> in, const Array &rows) {
    Array again = rows;
    std::vector<double> c(rows.width), both(rows.row(rows.rows - 1), rows.row(rows.rows - 1) + rows.width);
    run(in, again, c);
    both.insert(both.end(), c.begin(), c.end());
    return gates::with_initial(rewrite, node, 2, {2, static_cast<uint32_t>(rows.width)}, std::move(both));
}

Status kernel(KernelCall &call) {
    if (call.node.inputs.size() == 3) LW_TRY(initial_on_host(call));
    gates::plan_row(call, "lstm", parts);
    call.write();
    call.output(gates::memory(call, parts));
    call.carry("h", gates::initial(call, 2, 0));
    call.carry("c", gates::initial(call, 2, 1));
    return Status::ok();
}

} // namespace

const OpDef op_lstm{
    .name = "lstm",
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .begun = begun,
    .reference = reference,
};

} // namespace longwave::ir
