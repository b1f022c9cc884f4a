#include "compiler/layers/orchid/hyena_filter.h"
#include <algorithm>
#include <cmath>

namespace longwave::compiler::layers {
namespace {

struct Stage {
    std::vector<double> weight, bias, freq; // [out, in], [out], [out]: sin(freq·(weight·x + bias))
};

std::vector<double> product(const std::vector<double> &weight, const std::vector<double> &x, size_t outputs) {
    std::vector<double> y(outputs);
    for (size_t o = 0; o < outputs; ++o)
        for (size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
    return y;
}

} // namespace

HyenaFilter hyena_filter(Lowering &lowering, const Layer &layer, const std::string &prefix, uint32_t width,
                         uint32_t l_max, uint32_t order, uint32_t emb_dim, uint32_t inner, double shift) {
    const auto numbers = [&](const std::string &name, const std::vector<uint32_t> &shape) {
        return lowering.numbers(layer, prefix + "." + name, shape);
    };
    const ir::ValueId bias = lowering.weight(layer, prefix + ".bias", {width});
    const auto t = numbers("pos_emb.t", {1, l_max, 1}), z = numbers("pos_emb.z", {1, l_max, emb_dim}),
               deltas = numbers("modulation.deltas", {1, 1, width});
    std::vector<Stage> stages;
    const auto at = [](uint32_t index) { return "implicit_filter." + std::to_string(index); };
    for (uint32_t n = 0; n <= inner; ++n)
        stages.push_back({numbers(at(2 * n) + ".weight", {order, n ? order : emb_dim}),
                          numbers(at(2 * n) + ".bias", {order}),
                          numbers(at(2 * n + 1) + ".freq", {1, order})});
    const auto last = numbers(at(2 * inner + 2) + ".weight", {width, order});
    bool complete = !t.empty() && !z.empty() && !deltas.empty() && !last.empty();
    for (const Stage &stage : stages)
        complete = complete && !stage.weight.empty() && !stage.bias.empty() && !stage.freq.empty();
    std::vector<double> taps;
    if (complete) {
        taps.resize(size_t{width} * l_max);
        for (size_t j = 0; j < l_max; ++j) {
            std::vector<double> x(z.begin() + static_cast<ptrdiff_t>(j * emb_dim),
                                  z.begin() + static_cast<ptrdiff_t>((j + 1) * emb_dim));
            for (const Stage &stage : stages) {
                x = product(stage.weight, x, order);
                for (size_t o = 0; o < order; ++o) x[o] = std::sin(stage.freq[o] * (x[o] + stage.bias[o]));
            }
            x = product(last, x, width);
            for (size_t c = 0; c < width; ++c)
                taps[c * l_max + j] = x[c] * (std::exp(-t[j] * std::fabs(deltas[c])) + shift);
        }
    }
    return {lowering.constant(layer.key(prefix + ".bias") + ".taps", {width, l_max}, std::move(taps)), bias};
}

} // namespace longwave::compiler::layers
