// expand_scales: the taps of a multi-scale kernel from its parameters: each scale is a short kernel
// stretched by a power of two, laid end to end; and what is added to the first taps, D and merged
// short kernels.
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_expand_scales(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              copies = k.params.integer("copies", 1, 128);
    const int dim = k.params.integer("kernel_dim", 1, 1 << 16), scales = k.params.integer("scales", 1, 24);
    const int init_scale = k.params.integer_or("init_scale", 0, 0, 16),
              taps = k.params.integer("taps", 1, 1 << 24);
    const int direct = k.params.integer_or("direct", 1, 1, taps);
    const bool nearest = k.params.flag_or("nearest", false);
    k.no_epilogue();
    const int width = static_cast<int>(pad(channels));
    ImageParam w = k.weight("w", dense({width, dim, copies, scales}));
    ImageParam d = k.weight("d", dense({width, copies, direct}));

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
            value = w(c, j >> shift, m, i);
        } else {
            Expr at = max((cast<float>(j) + 0.5f) * (1.0f / s) - 0.5f, 0.0f);
            Expr low = min(cast<int>(at), dim - 1), high = min(low + 1, dim - 1);
            Expr part = at - cast<float>(low);
            value = (1.0f - part) * w(c, low, m, i) + part * w(c, high, m, i);
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
