// gru: the recurrence of a gated recurrent unit. With the three parts of x and of u = weight·h[t−1]
// side by side:
//     r = σ(x_r + u_r),  z = σ(x_z + u_z),  n = tanh(x_n + r (u_n + bias)),  h[t] = (1 − z) n + z h[t−1]
// With reset_after 0, r multiplies the state in front of its matrix, as first published (Cho et al. 2014,
// https://arxiv.org/abs/1406.1078):
//     n = tanh(x_n + weight_n·(r h[t−1]) + bias)
// The result is h. It begins with zeros, or with a fourth input. x is a linear op of the layer's input,
// with all biases but the one of u_n. With bands, each has a recurrence of its own and all share the weights;
// or the recurrence goes over the bands of each row (over_bands).
#include "compiler/ops/recurrent/gates.h"
#include "schedules/contract/kernels/recurrent.h"
#include <cmath>

namespace longwave::ir {
namespace {

constexpr uint32_t parts = 3;

constexpr AttributeDef reset_after{"reset_after", AttributeDef::Kind::integer, false}; // default: 1

bool resets_after(const Node &node) {
    return !node.has(reset_after.name) || node.integer(reset_after.name) != 0;
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    if (node.has(reset_after.name)) LW_TRY(rules::flag(node, reset_after.name).status());
    LW_ASSIGN(const Type type, gates::infer(node, in, parts, 3, 1));
    LW_TRY(rules::vector(in[2], "bias", type.dims.back()));
    return type;
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    if (gates::goes_over_bands(node)) return {};
    Type result = in[0];
    result.dims.back() /= parts;
    return {.carries = {{"h", Elem::f32, gates::state_dims(result)}}};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// weight_g·h of one of the three parts.
std::vector<double> product(std::span<const Operand *const> in, size_t g, const std::vector<double> &h) {
    std::vector<double> u(h.size());
    gates::add_product(*in[1], g * h.size(), h, u);
    return u;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const bool after = resets_after(node);
    const size_t units = out.width / gates::bands_of(context.types[0]);
    std::vector<double> h(units), r(units), kept(units);
    const auto begin = [&](size_t band) {
        for (size_t i = 0; i < units; ++i) h[i] = in.size() == 4 ? in[3]->data[band * units + i] : 0.0;
    };
    gates::walk(node, context.types[0], *in[0], out, begin, [&](const double *x, double *y) {
        const std::vector<double> u_r = product(in, 0, h), u_z = product(in, 1, h);
        for (size_t i = 0; i < units; ++i)
            r[i] = logistic(x[i] + u_r[i]), kept[i] = after ? h[i] : r[i] * h[i];
        const std::vector<double> u_n = product(in, 2, kept);
        for (size_t i = 0; i < units; ++i) {
            const double z = logistic(x[units + i] + u_z[i]), u = u_n[i] + in[2]->data[i],
                         n = std::tanh(x[2 * units + i] + (after ? r[i] * u : u));
            y[i] = h[i] = (1 - z) * n + z * h[i];
        }
    });
}

std::vector<float> packed_bias(const KernelCall &call) {
    std::vector<float> bias(schedules::pad(call.result().dims.back()), 0.f);
    const Numbers &given = call.constant(2);
    for (size_t i = 0; i < given.size(); ++i) bias[i] = static_cast<float>(given[i]);
    return bias;
}

Status kernel(KernelCall &call) {
    LW_ASSIGN(const gates::Row row, gates::plan_row(call, parts));
    call.kernel<contract::Gru>({.units = row.units,
                                .bands = row.bands,
                                .restart = row.restart,
                                .reset_after = resets_after(call.node)},
                               {.x = row.x,
                                .w = row.weight,
                                .bias = call.packed("bias", packed_bias(call)),
                                .place = row.place,
                                .y = row.y,
                                .gates = row.gates,
                                .h = gates::state(call, "h", 0, 3)});
    return Status::ok();
}

} // namespace

const OpDef op_gru{
    .name = "gru",
    .attributes = {reset_after, gates::over_bands},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
