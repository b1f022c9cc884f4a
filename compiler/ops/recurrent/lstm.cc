// lstm: the recurrence of a long short-term memory. With the four parts of x and of weight·h[t−1]
// side by side:
//     i, f, g, o = x + weight·h[t−1],   c[t] = σ(f) c[t−1] + σ(i) tanh(g),   h[t] = σ(o) tanh(c[t])
// The result is h. Both states begin with zeros, or with the rows h and c of a third input. x is a
// linear op of the layer's input, with all biases.
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

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    std::vector<double> h(out.width), c(out.width);
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

Status kernel(KernelCall &call) {
    gates::plan_row(call, "lstm", parts);
    call.write();
    call.output(gates::memory(call, parts));
    call.carry("h", gates::initial(call, 2));
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
    .reference = reference,
};

} // namespace longwave::ir
