// The taps of a long convolution as its kernels want them.
#include "compiler/planner/convolution/kernels.h"
#include "schedules/kernel.h"
#include <algorithm>

namespace longwave::compiler::convolution {

using schedules::pad;

Shape::Shape(const Situation &situation) {
    const auto &dims = situation.type(1).dims;
    given = static_cast<uint32_t>(situation.node.integer("channels"));
    channels = dims[1];
    padded = pad(channels);
    copies = channels == 1 ? pad(given) : given;
    kernels = dims[0] / given * copies;
    tile = channels == 1 ? 1 : schedules::lanes;
    two_sided = situation.node.integer("two_sided") != 0;
    taps = situation.streaming ? dims[2] : std::min(dims[2], situation.rows);
}

std::optional<uint32_t> Shape::given_row(uint32_t kernel) const {
    const uint32_t side = kernel / copies, copy = kernel % copies;
    return copy < given ? std::optional(side * given + copy) : std::nullopt;
}

namespace {

// Calls visit(kernel, channel, row): for each row of k that the node has and each channel, where the numbers
// lie.
template <class Visit> void each_kernel(const Shape &s, Visit visit) {
    for (uint32_t kernel = 0; kernel < s.kernels; kernel++) {
        const auto row = s.given_row(kernel);
        for (uint32_t h = 0; row && h < s.channels; h++) visit(kernel, h, size_t(*row) * s.channels + h);
    }
}

// D[c,h], for every row of the node's k: the backward ones have none.
std::vector<double> direct_term(const KernelCall &call, const Shape &s) {
    std::vector<double> d(size_t(call.type(1).dims[0]) * s.channels, 0.0);
    const auto &given = call.constant(2);
    std::copy(given.begin(), given.end(), d.begin());
    return d;
}

Place constant_taps(KernelCall &call, const Shape &s) {
    const auto &k = call.constant(1);
    const auto d = direct_term(call, s);
    const uint32_t given = call.type(1).dims[2];
    std::vector<float> packed(size_t(s.taps) * s.kernels * s.padded, 0.f);
    each_kernel(s, [&](uint32_t kernel, uint32_t h, size_t of) {
        for (uint32_t j = 0; j < s.taps; j++) {
            const double tap = k[of * given + j] + (j == 0 ? d[of] : 0.0);
            packed[(size_t(j) * s.kernels + kernel) * s.padded + h] = static_cast<float>(tap);
        }
    });
    return call.stored("k", Packed::f32({s.taps, s.kernels, s.padded}, packed));
}

// SGConv's parameters [scales, kernels, kernel_dim, P(channels)] (models.md §1.1), growth and norm folded in.
Packed packed_scales(const KernelCall &call, const Shape &s, const ir::Node &expand) {
    const auto &dims = call.graph().type(expand.inputs[0]).dims; // [N, C', H, d]
    const auto &w = call.constant(expand, 0);
    const uint32_t scales = dims[0], kernel_dim = dims[3];
    std::vector<float> packed(size_t(scales) * s.kernels * kernel_dim * s.padded, 0.f);
    const size_t rows = size_t(dims[1]) * s.channels;
    each_kernel(s, [&](uint32_t kernel, uint32_t h, size_t of) {
        for (uint32_t n = 0; n < scales; n++)
            for (uint32_t j = 0; j < kernel_dim; j++)
                packed[((size_t(n) * s.kernels + kernel) * kernel_dim + j) * s.padded + h] =
                    static_cast<float>(w[(n * rows + of) * kernel_dim + j]);
    });
    return Packed::f32({scales, s.kernels, kernel_dim, s.padded}, packed);
}

// What is added to the first taps: D, and a short kernel that was merged into the long one. [length, kernels,
// P(channels)]
Packed packed_direct(const KernelCall &call, const Shape &s, const ir::Node &expand) {
    const auto d = direct_term(call, s);
    const bool merged = expand.inputs.size() == 2;
    const uint32_t given = merged ? call.graph().type(expand.inputs[1]).dims[2] : 1,
                   length = std::min(given, s.taps);
    std::vector<float> packed(size_t(length) * s.kernels * s.padded, 0.f);
    each_kernel(s, [&](uint32_t kernel, uint32_t h, size_t of) {
        for (uint32_t j = 0; j < length; j++) {
            const double tap =
                (j == 0 ? d[of] : 0.0) + (merged ? call.constant(expand, 1)[of * given + j] : 0.0);
            packed[(size_t(j) * s.kernels + kernel) * s.padded + h] = static_cast<float>(tap);
        }
    });
    return Packed::f32({length, s.kernels, s.padded}, packed);
}

Place expanded_taps(KernelCall &call, const Shape &s, const ir::Node &expand, bool keep) {
    const Packed scales = packed_scales(call, s, expand), direct = packed_direct(call, s, expand);
    const std::vector<uint32_t> dims{s.taps, s.kernels, s.padded};
    bool fresh = true;
    const Place taps =
        keep ? call.derived(call.node.layer + ".k taps " + std::to_string(s.taps), Elem::f32, dims, &fresh)
             : call.prepare_memory(call.node.layer + ".k", Elem::f32, dims);
    if (!fresh) return taps;
    Step step{.name = call.node.layer + " expand_scales", .layer = call.node.layer};
    step.spec = ir::kernel_spec("expand_scales", {{"channels", int64_t{s.channels}},
                                                  {"copies", int64_t{s.kernels}},
                                                  {"kernel_dim", int64_t{scales.dims[2]}},
                                                  {"scales", int64_t{scales.dims[0]}},
                                                  {"init_scale", expand.integer("init_scale")},
                                                  {"nearest", expand.integer("nearest")},
                                                  {"taps", int64_t{s.taps}},
                                                  {"direct", int64_t{direct.dims[0]}}});
    step.args = {call.stored("kernel_list", scales), call.stored("D", direct), taps};
    call.prepare(std::move(step));
    return taps;
}

} // namespace

Place taps_of(KernelCall &call, const Shape &shape, bool keep) {
    const ir::Node *expand = call.producer(1);
    return expand ? expanded_taps(call, shape, *expand, keep) : constant_taps(call, shape);
}

void shape_params(KernelCall &call, const Shape &shape) {
    call.param("channels", int64_t{shape.channels});
    call.param("copies", int64_t{shape.copies});
}

} // namespace longwave::compiler::convolution
