// gru: the recurrence of a gated recurrent unit. With the three parts of x and of u = weight·h[t−1]
// side by side:
//     r = σ(x_r + u_r),  z = σ(x_z + u_z),  n = tanh(x_n + r (u_n + bias)),  h[t] = (1 − z) n + z h[t−1]
// The result is h, which begins with zeros. x is a linear op of the layer's input, with all biases
// but the one that r multiplies.
#include "compiler/ops/recurrent/gates.h"
#include <cmath>

namespace longwave::ir {
namespace {

constexpr uint32_t parts = 3;

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    LW_ASSIGN(const Type type, gates::infer(in, parts));
    LW_TRY(rules::vector(in[2], "bias", type.dims[0]));
    return type;
}

StreamRule stream(const Node &, std::span<const Type> in) {
    return {.carries = {{"h", Elem::f32, {schedules::pad(in[0].dims[0] / parts)}}}};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    std::vector<double> h(out.width);
    for (size_t t = 0; t < out.rows; ++t) {
        std::vector<double> u[parts];
        for (size_t g = 0; g < parts; ++g) {
            u[g].resize(out.width);
            gates::add_product(*in[1], g * out.width, h, u[g]);
        }
        const double *x = in[0]->row(t);
        for (size_t i = 0; i < out.width; ++i) {
            const double r = logistic(x[i] + u[0][i]), z = logistic(x[out.width + i] + u[1][i]),
                         n = std::tanh(x[2 * out.width + i] + r * (u[2][i] + in[2]->data[i]));
            h[i] = (1 - z) * n + z * h[i];
            out.row(t)[i] = h[i];
        }
    }
}

Status kernel(KernelCall &call) {
    gates::plan_row(call, "gru", parts);
    call.weight("bias", call.result().packed(call.constant(2)));
    call.write();
    call.output(gates::memory(call, parts));
    call.carry("h");
    return Status::ok();
}

} // namespace

const OpDef op_gru{
    .name = "gru",
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
