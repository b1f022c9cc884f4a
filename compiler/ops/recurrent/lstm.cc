// lstm: the recurrence of a long short-term memory. With the four parts of x and of weight·h[t−1]
// side by side:
//     i, f, g, o = x + weight·h[t−1],   c[t] = σ(f) c[t−1] + σ(i) tanh(g),   h[t] = σ(o) tanh(c[t])
// The result is h. Both states begin with zeros, or with the rows h and c of a third input. x is a
// linear op of the layer's input, with all biases. Bands are as for gru.
#include "compiler/ops/recurrent/gates.h"
#include "schedules/contract/kernels/recurrent.h"
#include <cmath>

namespace longwave::ir {
namespace {

constexpr uint32_t parts = 4;

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    return gates::infer(node, in, parts, 2, 2);
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    if (gates::goes_over_bands(node)) return {};
    Type result = in[0];
    result.dims.back() /= parts;
    const std::vector<uint32_t> dims = gates::state_dims(result);
    return {.carries = {{"h", Elem::f32, dims}, {"c", Elem::f32, dims}}};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const size_t units = out.width / gates::bands_of(context.types[0]);
    std::vector<double> h(units), c(units);
    const auto begin = [&](size_t band) {
        for (size_t i = 0; i < units; ++i) {
            h[i] = in.size() == 3 ? in[2]->data[band * units + i] : 0.0;
            c[i] = in.size() == 3 ? in[2]->data[out.width + band * units + i] : 0.0;
        }
    };
    gates::walk(node, context.types[0], *in[0], out, begin, [&](const double *x, double *y) {
        std::vector<double> gate[parts];
        for (size_t g = 0; g < parts; ++g) {
            gate[g].assign(x + g * units, x + (g + 1) * units);
            gates::add_product(*in[1], g * units, h, gate[g]);
        }
        for (size_t i = 0; i < units; ++i) {
            c[i] = logistic(gate[1][i]) * c[i] + logistic(gate[0][i]) * std::tanh(gate[2][i]);
            y[i] = h[i] = logistic(gate[3][i]) * std::tanh(c[i]);
        }
    });
}

Status kernel(KernelCall &call) {
    LW_ASSIGN(const gates::Row row, gates::plan_row(call, parts));
    call.kernel<contract::Lstm>({.units = row.units, .bands = row.bands, .restart = row.restart},
                                {.x = row.x,
                                 .w = row.weight,
                                 .place = row.place,
                                 .y = row.y,
                                 .gates = row.gates,
                                 .h = gates::state(call, "h", 0, 2),
                                 .c = gates::state(call, "c", 1, 2)});
    return Status::ok();
}

} // namespace

const OpDef op_lstm{
    .name = "lstm",
    .attributes = {gates::over_bands},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
