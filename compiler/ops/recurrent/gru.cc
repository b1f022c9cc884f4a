// gru: the recurrence of a gated recurrent unit. With the three parts of x and of u = weight·h[t−1]
// side by side:
//     r = σ(x_r + u_r),  z = σ(x_z + u_z),  n = tanh(x_n + r (u_n + bias)),  h[t] = (1 − z) n + z h[t−1]
// With reset_after 0, r multiplies the state in front of its matrix, as first published (Cho et al. 2014,
// https://arxiv.org/abs/1406.1078):
//     n = tanh(x_n + weight_n·(r h[t−1]) + bias)
// The result is h. It begins with zeros, or with a fourth input. x is a linear op of the layer's input,
// with all biases but the one of u_n.
#include "compiler/ops/recurrent/gates.h"
#include <cmath>

namespace longwave::ir {
namespace {

constexpr uint32_t parts = 3;

constexpr AttributeDef reset_after{"reset_after", AttributeDef::Kind::integer, false}; // default: 1

bool resets_after(const Node &node) { return !node.has(reset_after.name) || node.integer(reset_after.name) != 0; }

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    if (node.has(reset_after.name)) LW_TRY(rules::flag(node, reset_after.name).status());
    if (in.size() != 4) LW_TRY(rules::count(in, 3));
    LW_ASSIGN(const Type type, gates::infer(in, parts));
    LW_TRY(rules::vector(in[2], "bias", type.dims[0]));
    if (in.size() == 4) LW_TRY(rules::vector(in[3], "initial", type.dims[0]));
    return type;
}

StreamRule stream(const Node &, std::span<const Type> in) {
    return {.carries = {{"h", Elem::f32, {schedules::pad(in[0].dims[0] / parts)}}}};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// weight_g·h of one of the three parts.
std::vector<double> product(std::span<const Operand *const> in, size_t g, const std::vector<double> &h) {
    std::vector<double> u(h.size());
    gates::add_product(*in[1], g * h.size(), h, u);
    return u;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const bool after = resets_after(node);
    std::vector<double> h(out.width), r(out.width), kept(out.width);
    for (size_t i = 0; in.size() == 4 && i < out.width; ++i) h[i] = in[3]->data[i];
    for (size_t t = 0; t < out.rows; ++t) {
        const double *x = in[0]->row(t);
        const std::vector<double> u_r = product(in, 0, h), u_z = product(in, 1, h);
        for (size_t i = 0; i < out.width; ++i) r[i] = logistic(x[i] + u_r[i]), kept[i] = after ? h[i] : r[i] * h[i];
        const std::vector<double> u_n = product(in, 2, kept);
        for (size_t i = 0; i < out.width; ++i) {
            const double z = logistic(x[out.width + i] + u_z[i]), u = u_n[i] + in[2]->data[i],
                         n = std::tanh(x[2 * out.width + i] + (after ? r[i] * u : u));
            h[i] = (1 - z) * n + z * h[i];
            out.row(t)[i] = h[i];
        }
    }
}

Status kernel(KernelCall &call) {
    gates::plan_row(call, "gru", parts);
    if (!resets_after(call.node)) call.param(reset_after.name, int64_t{0});
    call.weight("bias", call.result().packed(call.constant(2)));
    call.write();
    call.output(gates::memory(call, parts));
    call.carry("h", gates::initial(call, 3));
    return Status::ok();
}

} // namespace

const OpDef op_gru{
    .name = "gru",
    .attributes = {reset_after},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
