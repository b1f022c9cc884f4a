// state_space: a diagonal state space, as the op of that name, which adds D x. With `s4d` the
// tensors are those of the official S4D layer, whose poles and amplitudes are computed here in
// float64.
#include "compiler/layers/layers.h"
#include <algorithm>
#include <cmath>
#include <complex>

namespace longwave::compiler::layers {

namespace {

constexpr double remembers = 4096; // rows: a state that lasts longer is kept in float64

using Complex = std::complex<double>;

struct Space {
    // Logarithms of one row [H, N, 2]; [copies, H, N, 2]; both empty if a problem was reported.
    std::vector<double> poles, c;
};

Space stored_space(Lowering &lowering, const Layer &layer, uint32_t copies, uint32_t heads, uint32_t states) {
    return {lowering.numbers(layer, "poles", {heads, states, 2}),
            lowering.numbers(layer, "c", {copies, heads, states, 2},
                             {{copies, heads, states, 2}, {heads, states, 2}})};
}

// Zero-order hold: p = Δ A and c = 2 C (e^p − 1) / A with A = −e^log_A_real + i A_imag. Twice, as
// each pole stands for a pair of conjugates.
Space s4d_space(Lowering &lowering, const Layer &layer, uint32_t copies, uint32_t heads, uint32_t states) {
    const std::vector<double> steps = lowering.numbers(layer, "kernel.log_dt", {heads}),
                              reals = lowering.numbers(layer, "kernel.log_A_real", {heads, states}),
                              imaginaries = lowering.numbers(layer, "kernel.A_imag", {heads, states});
    Space space{{},
                lowering.numbers(layer, "kernel.C", {copies, heads, states, 2},
                                 {{copies, heads, states, 2}, {heads, states, 2}})};
    if (steps.empty() || reals.empty() || imaginaries.empty() || space.c.empty()) return {};
    for (size_t h = 0; h < heads; ++h)
        for (size_t n = 0; n < states; ++n) {
            const Complex a(-std::exp(reals[h * states + n]), imaginaries[h * states + n]),
                p = a * std::exp(steps[h]);
            space.poles.insert(space.poles.end(), {p.real(), p.imag()});
            for (size_t k = 0; k < copies; ++k) {
                double *c = &space.c[((k * heads + h) * states + n) * 2];
                const Complex held = 2.0 * Complex(c[0], c[1]) * (std::exp(p) - 1.0) / a;
                c[0] = held.real(), c[1] = held.imag();
            }
        }
    return space;
}

} // namespace

Expected<Flow> lower_state_space(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t heads, feature_width(lowering, layer, inputs[0]));
    const uint32_t states = integer(layer, "states"), copies = integer(layer, "channels");
    const bool s4d = flag(layer, "s4d");
    Space space = (s4d ? s4d_space : stored_space)(lowering, layer, copies, heads, states);
    const ir::ValueId d = lowering.weight(layer, "D", {copies, heads}, {{copies, heads}, {heads}});
    double slowest = -1;
    for (size_t i = 0; i < space.poles.size(); i += 2)
        slowest = i ? std::max(slowest, space.poles[i]) : space.poles[i];
    if (slowest > 0)
        return lowering.failure(layer, "", "poles whose logarithm has a real part of at most 0",
                                std::to_string(slowest), "such a state grows without limit");
    const ir::ValueId poles = lowering.constant(layer.key(s4d ? "kernel.log_dt" : "poles") + ".poles",
                                                {heads, states, 2}, std::move(space.poles)),
                      c = lowering.constant(layer.key(s4d ? "kernel.C" : "c") + ".c",
                                            {copies, heads, states, 2}, std::move(space.c));
    return lowering.node(layer, "state_space", {inputs[0].value, poles, c, d},
                         {{"channels", int64_t{copies}},
                          {"complex", int64_t{0}},
                          {"state", int64_t{slowest > -1 / remembers ? 64 : 32}}},
                         copies > 1 && heads > 1 ? Form::flat : Form::features);
}

} // namespace longwave::compiler::layers
