// expand_scales: the taps of a multi-scale kernel from its parameters: each scale is a short kernel
// stretched by a power of two, laid end to end; and what is added to the first taps, D and merged
// short kernels. The parameters may be int8. One scale that is not stretched is the taps themselves.
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/weight_formats.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_expand_scales(KernelBuilder &k, const contract::ExpandScales &p) {
    const int copies = p.copies, dim = p.kernel_dim, scales = p.scales, init_scale = p.init_scale,
              taps = p.taps, direct = p.direct;
    const bool nearest = p.nearest, int8 = p.weights.is<"int8">();
    const auto a = contract::names_of<contract::ExpandScales>();
    k.params.require(direct <= taps, "'direct' must be at most 'taps'");
    k.no_epilogue();
    const int width = static_cast<int>(pad(extent(p.channels)));
    constexpr int of_word = weights_of_word(WeightFormat::int8);
    ImageParam w = int8 ? k.weight_bytes(a.w, dense({width / of_word, dim, copies, scales}))
                        : k.weight(a.w, dense({width, dim, copies, scales}));
    ImageParam size;
    if (int8) size = k.weight(a.scale, dense({width, (dim + int8_taps - 1) / int8_taps, copies, scales}));
    ImageParam d = k.weight(a.d, dense({width, copies, direct}));
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
    k.output(y, a.k, dense({width, copies, taps}));
}

static const Kernel<contract::ExpandScales> expand_scales{build_expand_scales};

} // namespace longwave::schedules
