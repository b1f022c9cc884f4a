// expand_scales: the taps of a multi-scale kernel from its parameters: each scale is a short kernel
// stretched by a power of two, laid end to end; and what is added to the first taps, D and merged
// short kernels. The parameters may be int8. One scale that is not stretched is the taps themselves.
#include "schedules/contract/weight_formats.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_expand_scales(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              copies = k.params.integer("copies", 1, 1 << 20);
    const int dim = k.params.integer("kernel_dim", 1, 1 << 24), scales = k.params.integer("scales", 1, 24);
    const int init_scale = k.params.integer_or("init_scale", 0, 0, 16),
              taps = k.params.integer("taps", 1, 1 << 24);
    const int direct = k.params.integer_or("direct", 1, 1, taps);
    const bool nearest = k.params.flag_or("nearest", false),
               int8 = k.params.choice_or("weights", "float32", {"float32", "int8"}) == "int8";
    k.no_epilogue();
    const int width = static_cast<int>(pad(channels));
    constexpr int of_word = weights_of_word(WeightFormat::int8);
    ImageParam w = int8 ? k.weight_bytes("w", dense({width / of_word, dim, copies, scales}))
                        : k.weight("w", dense({width, dim, copies, scales}));
    ImageParam size;
    if (int8) size = k.weight("scale", dense({width, (dim + int8_taps - 1) / int8_taps, copies, scales}));
    ImageParam d = k.weight("d", dense({width, copies, direct}));
    const auto parameter = [&](const Expr &c, const Expr &j, const Expr &m, int i) -> Expr {
        return int8 ? cast<float>(w(c, j, m, i)) * size(c, j / int8_taps, m, i) : w(c, j, m, i);
    };

    // THE ALGORITHM Scale i stretches by s = 2^(max(0, i−1) + init_scale) and starts where scale
    // i−1 ends. Half-pixel interpolation, clamped at both ends.
    Var c("c"), m("m"), t("t");
    Func y("k");
    const int vec = dividing_vector(width, k.target.vector_lanes);
    y(c, m, t) = 0.0f;
    y.vectorize(c, vec);
    int updates = 0;
    int64_t start = 0;
    for (int i = 0; i < scales && start < taps; i++) {
        const int shift = std::max(0, i - 1) + init_scale;
        const int64_t length = int64_t{dim} << shift;
        RDom j(0, static_cast<int>(std::min<int64_t>(length, taps - start)), "j" + std::to_string(i));
        const float s = static_cast<float>(int64_t{1} << shift);
        Expr value;
        if (nearest) {
            value = parameter(c, j >> shift, m, i);
        } else {
            Expr at = max((cast<float>(j) + 0.5f) * (1.0f / s) - 0.5f, 0.0f);
            Expr low = min(cast<int>(at), dim - 1), high = min(low + 1, dim - 1);
            Expr part = at - cast<float>(low);
            value = (1.0f - part) * parameter(c, low, m, i) + part * parameter(c, high, m, i);
        }
        y(c, m, static_cast<int>(start) + j) = value;
        y.update(updates++).reorder(c, j, m).vectorize(c, vec);
        start += length;
    }
    RDom j(0, direct, "jd");
    y(c, m, j) += d(c, m, j);
    y.update(updates).reorder(c, j, m).vectorize(c, vec);
    k.output(y, dense({width, copies, taps}));
}

static const Kernel expand_scales{"expand_scales", build_expand_scales};

} // namespace longwave::schedules
