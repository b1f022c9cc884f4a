// The taps of a long convolution in the memory layout of its kernels.
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/long_conv/kernels.h"
#include "compiler/ops/recurrent/state_space.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/long_conv.h"
#include <algorithm>
#include <cmath>

namespace longwave::compiler::convolution {

using schedules::pad;

Shape::Shape(const PlanContext &context) {
    const auto &dims = context.type(1).dims;
    given = static_cast<uint32_t>(context.node.integer("channels"));
    channels = dims[1];
    padded = pad(channels);
    copies = channels == 1 ? pad(given) : given;
    kernels = dims[0] / given * copies;
    tile = channels == 1 ? 1 : schedules::lanes;
    two_sided = context.node.integer("two_sided") != 0;
    taps = context.streaming ? dims[2] : std::min(dims[2], context.rows);
}

std::optional<uint32_t> Shape::given_row(uint32_t kernel) const {
    const uint32_t side = kernel / copies, copy = kernel % copies;
    return copy < given ? std::optional(side * given + copy) : std::nullopt;
}

void each_kernel(const Shape &s, const std::function<void(uint32_t, uint32_t, size_t)> &visit) {
    for (uint32_t kernel = 0; kernel < s.kernels; kernel++) {
        const auto row = s.given_row(kernel);
        for (uint32_t h = 0; row && h < s.channels; h++) visit(kernel, h, size_t(*row) * s.channels + h);
    }
}

namespace {

// D[c,h], for every row of the node's k: the backward ones have none.
std::vector<double> direct_term(const KernelCall &call, const Shape &s) {
    std::vector<double> d(size_t(call.type(1).dims[0]) * s.channels, 0.0);
    const auto &given = call.constant(2);
    std::copy(given.begin(), given.end(), d.begin());
    return d;
}

// `row`: the lanes of a row, with a channel or without.
Place constant_taps(KernelCall &call, const Shape &s, uint32_t row) {
    const auto &k = call.constant(1);
    const auto d = direct_term(call, s);
    const uint32_t given = call.type(1).dims[2];
    std::vector<float> packed(size_t(s.taps) * s.kernels * row, 0.f);
    each_kernel(s, [&](uint32_t kernel, uint32_t h, size_t of) {
        for (uint32_t j = 0; j < s.taps; j++) {
            const double tap = k[of * given + j] + (j == 0 ? d[of] : 0.0);
            packed[(size_t(j) * s.kernels + kernel) * row + h] = static_cast<float>(tap);
        }
    });
    return call.stored(row == s.padded ? "k" : "k dense", Packed::f32({s.taps, s.kernels, row}, packed));
}

// How the kernel expand_scales sees a convolution: many copies of one channel are its lanes.
struct ExpandedShape {
    bool lanes_are_copies;
    uint32_t channels, lanes, copies;

    explicit ExpandedShape(const Shape &s)
        : lanes_are_copies(s.channels == 1 && s.kernels % schedules::lanes == 0),
          channels(lanes_are_copies ? s.kernels : s.channels), lanes(lanes_are_copies ? s.kernels : s.padded),
          copies(lanes_are_copies ? 1 : s.kernels) {}

    // In [scales, copies, of_scale, lanes].
    size_t at(uint32_t scale, uint32_t kernel, uint32_t h, uint32_t j, uint32_t of_scale) const {
        const uint32_t copy = lanes_are_copies ? 0 : kernel, lane = lanes_are_copies ? kernel : h;
        return ((size_t(scale) * copies + copy) * of_scale + j) * lanes + lane;
    }
    std::vector<uint32_t> dims(uint32_t scales, uint32_t of_scale, uint32_t together = 1) const {
        return {scales, copies, of_scale, lanes / together};
    }
};

size_t elements(const std::vector<uint32_t> &dims) {
    size_t n = 1;
    for (const uint32_t extent : dims) n *= extent;
    return n;
}

// SGConv's parameters [scales, copies, kernel_dim, lanes], growth and norm folded in; or taps.
Packed packed_scales(const Shape &s, const Scales &k) {
    const ExpandedShape shape(s);
    const std::vector<uint32_t> dims = shape.dims(k.count, k.kernel_dim);
    std::vector<float> packed(elements(dims), 0.f);
    each_kernel(s, [&](uint32_t kernel, uint32_t h, size_t of) {
        for (uint32_t n = 0; n < k.count; n++)
            for (uint32_t j = 0; j < k.kernel_dim; j++)
                packed[shape.at(n, kernel, h, j, k.kernel_dim)] = static_cast<float>(k.weight(n, of, j));
    });
    return Packed::f32(dims, std::move(packed));
}

// The same as int8, four lanes in a word, and the size of a step [scales, copies, groups, lanes].
std::pair<Packed, Packed> packed_int8(const Shape &s, const Scales &k) {
    constexpr uint32_t of_word = schedules::weights_of_word(schedules::WeightFormat::int8);
    const ExpandedShape shape(s);
    const uint32_t groups = (k.kernel_dim + schedules::int8_taps - 1) / schedules::int8_taps;
    std::vector<int8_t> packed(elements(shape.dims(k.count, k.kernel_dim)), 0);
    std::vector<float> sizes(elements(shape.dims(k.count, groups)), 0.f);
    each_kernel(s, [&](uint32_t kernel, uint32_t h, size_t of) {
        for (uint32_t n = 0; n < k.count; n++)
            for (uint32_t group = 0; group < groups; group++) {
                const uint32_t first = group * schedules::int8_taps,
                               end = std::min(first + schedules::int8_taps, k.kernel_dim);
                double largest = 0;
                for (uint32_t j = first; j < end; j++)
                    largest = std::max(largest, std::fabs(k.weight(n, of, j)));
                const float size = schedules::int8_scale(largest);
                sizes[shape.at(n, kernel, h, group, groups)] = size;
                for (uint32_t j = first; j < end; j++)
                    packed[shape.at(n, kernel, h, j, k.kernel_dim)] =
                        static_cast<int8_t>(schedules::int8_steps(k.weight(n, of, j), size));
            }
    });
    return {Packed::of(Elem::i32, shape.dims(k.count, k.kernel_dim, of_word), std::move(packed)),
            Packed::f32(shape.dims(k.count, groups), std::move(sizes))};
}

// [length, kernels, P(channels)]
Packed packed_direct(const Shape &s, const Scales &k) {
    std::vector<float> packed(size_t(k.direct) * s.kernels * s.padded, 0.f);
    each_kernel(s, [&](uint32_t kernel, uint32_t h, size_t of) {
        for (uint32_t j = 0; j < k.direct; j++)
            packed[(size_t(j) * s.kernels + kernel) * s.padded + h] = static_cast<float>(k.direct_tap(of, j));
    });
    return Packed::f32({k.direct, s.kernels, s.padded}, packed);
}

// The place of taps that a step of `prepare` computes. *fresh: the caller has to add that step.
Place prepared_taps(KernelCall &call, const Shape &s, bool keep, bool *fresh) {
    const std::vector<uint32_t> dims{s.taps, s.kernels, s.padded};
    *fresh = true;
    return keep ? call.derived(call.node.layer + ".k taps " + std::to_string(s.taps), Elem::f32, dims, fresh)
                : call.memory(call.node.layer + ".k", Elem::f32, dims, KernelCall::Life::open);
}

// `of`: the node that says whether the numbers are int8.
Place expanded_taps(KernelCall &call, const Shape &s, const Scales &scales, const ir::Node &of, bool keep) {
    bool fresh = true;
    const Place taps = prepared_taps(call, s, keep, &fresh);
    if (!fresh) return taps;
    const ExpandedShape shape(s);
    Step step{.name = call.node.layer + " expand_scales", .layer = call.node.layer};
    contract::ExpandScales params{.channels = shape.channels,
                                  .copies = shape.copies,
                                  .kernel_dim = scales.kernel_dim,
                                  .scales = scales.count,
                                  .init_scale = scales.init_scale,
                                  .taps = s.taps,
                                  .direct = scales.direct,
                                  .nearest = scales.nearest};
    Given::Weight weights, sizes;
    if (of.has(ir::stored_weights.name)) {
        params.weights = of.text(ir::stored_weights.name);
        auto [numbers, steps] = packed_int8(s, scales);
        weights = call.stored("kernel_list", std::move(numbers));
        sizes = call.stored("kernel_list.scale", std::move(steps));
    } else {
        weights = call.stored("kernel_list", packed_scales(s, scales));
    }
    ir::set_kernel(
        step, params,
        {.w = weights, .scale = sizes, .d = call.stored("D", packed_direct(s, scales)), .k = taps});
    call.prepare(std::move(step));
    return taps;
}

} // namespace

Scales::Scales(const KernelCall &call, const Shape &s)
    : kernel_dim(call.type(1).dims[2]), nearest(true), weights_(call.constant(1)), d_(direct_term(call, s)) {}

Scales::Scales(const KernelCall &call, const Shape &s, const ir::Node &expand)
    : init_scale(static_cast<uint32_t>(expand.integer("init_scale"))),
      nearest(expand.integer("nearest") != 0), weights_(call.constant(expand, 0)), d_(direct_term(call, s)) {
    const auto &dims = call.graph().type(expand.inputs[0]).dims; // [N, C', H, d]
    count = dims[0];
    kernel_dim = dims[3];
    rows_ = size_t(dims[1]) * dims[2];
    if (expand.inputs.size() == 1) return;
    merged_ = &call.constant(expand, 1);
    merged_taps_ = call.graph().type(expand.inputs[1]).dims[2];
    direct = std::min(merged_taps_, s.taps);
}

double Scales::weight(uint32_t scale, size_t of, uint32_t j) const {
    return weights_[(scale * rows_ + of) * kernel_dim + j];
}

double Scales::direct_tap(size_t of, uint32_t j) const {
    return (j == 0 ? d_[of] : 0.0) + (merged_ ? (*merged_)[of * merged_taps_ + j] : 0.0);
}

Place taps_of(KernelCall &call, const Shape &shape, bool keep) {
    const ir::Node *made = call.producer(1);
    if (!made && call.node.has(ir::stored_weights.name))
        return expanded_taps(call, shape, Scales(call, shape), call.node, keep);
    if (!made) return constant_taps(call, shape, shape.padded);
    if (made->op != &ir::op_exponential_taps)
        return expanded_taps(call, shape, Scales(call, shape, *made), *made, keep);
    bool fresh = true;
    const Place taps = prepared_taps(call, shape, keep, &fresh);
    if (fresh) call.prepare(ir::exponential_taps_step(call, *made, shape.taps, taps));
    return taps;
}

TapsForSpectra taps_for_spectra(KernelCall &call, const Shape &shape) {
    const bool constant = !call.producer(1) && !call.node.has(ir::stored_weights.name);
    if (constant && shape.channels > 1 && shape.channels < schedules::lanes)
        return {constant_taps(call, shape, shape.channels), true};
    return {taps_of(call, shape, false)};
}

} // namespace longwave::compiler::convolution
