// conv2d: a convolution over time and frequency in torch's cross-correlation order. Causal in time, centred in frequency, zeros outside.
#include "compiler/ops/rules.h"

namespace longwave::ir {
namespace {

struct Image {
    uint32_t frequencies, channels;
};

// A row without channels counts as frequencies × 1 channel, or as 1 frequency × channels (conv1d).
Image image(const Node &node, const Type &x) {
    if (x.dims.size() == 2) return {x.dims[0], x.dims[1]};
    return node.integer("frequency") ? Image{x.dims[0], 1} : Image{1, x.dims[0]};
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t bias, rules::flag(node, "bias"));
    LW_TRY(rules::flag(node, "frequency").status());
    LW_TRY(rules::count(in, 2 + bias));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    if (in[0].dims.size() != 2) LW_TRY(rules::rank(in[0], 1));
    const auto [frequencies, channels] = image(node, in[0]);
    LW_ASSIGN(const uint32_t stride_t, rules::integer(node, "stride_t", 1, 1 << 20));
    LW_ASSIGN(const uint32_t stride_f, rules::integer(node, "stride_f", 1, 1 << 20));
    LW_ASSIGN(const uint32_t groups, rules::integer(node, "groups", 1, channels));
    if (channels % groups) return Status::input(fmt::format("{} channels do not divide into {} groups", channels, groups));
    LW_TRY(rules::operand(in[1], "weight", {0, channels / groups, 0, 0}));
    const uint32_t out = in[1].dims[0], kf = in[1].dims[3];
    if (out % groups) return Status::input(fmt::format("{} output channels do not divide into {} groups", out, groups));
    if (bias) LW_TRY(rules::operand(in[2], "bias", {out}));
    const uint64_t padded = uint64_t{frequencies} + 2 * ((uint64_t{kf} - 1) / 2);
    if (padded < kf) return Status::input(fmt::format("a kernel of {} frequencies does not fit {} padded ones", kf, padded));
    const auto bands = static_cast<uint32_t>((padded - kf) / stride_f + 1);
    Type type = in[0];
    type.dims = bands == 1 ? std::vector{out} : std::vector{bands, out};
    LW_ASSIGN(type.clock, rules::slower(in[0].clock, stride_t));
    return type;
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    const int64_t rows = int64_t{in[1].dims[2]} - node.integer("stride_t");
    return history(rows > 0 ? static_cast<uint32_t>(rows) : 0);
}

void reference(const Node &node, std::span<const Array *const> in, const ReferenceContext &context, Array &out) {
    const auto [frequencies, channels] = image(node, context.types[0]);
    const auto &w = context.types[1].dims; // [out, in/groups, kt, kf]
    const int64_t stride_t = node.integer("stride_t"), stride_f = node.integer("stride_f"), pad = (w[3] - 1) / 2;
    const size_t of_group = w[0] / static_cast<size_t>(node.integer("groups"));
    for (size_t m = 0; m < out.rows; ++m)
        for (size_t i = 0; i < out.width; ++i) { // i = f·out + o
            const size_t o = i % w[0], first = o / of_group * w[1];
            double sum = node.integer("bias") ? in[2]->data[o] : 0.0;
            for (size_t c = 0; c < w[1]; ++c)
                for (size_t a = 0; a < w[2]; ++a)
                    for (size_t b = 0; b < w[3]; ++b) {
                        const int64_t t = static_cast<int64_t>(m + 1) * stride_t - w[2] + static_cast<int64_t>(a);
                        const int64_t f = static_cast<int64_t>(i / w[0]) * stride_f - pad + static_cast<int64_t>(b);
                        if (t < 0 || f < 0 || f >= frequencies) continue;
                        const double weight = in[1]->data[((o * w[1] + c) * w[2] + a) * w[3] + b];
                        sum += weight * in[0]->row(static_cast<size_t>(t))[static_cast<size_t>(f) * channels + first + c];
                    }
            out.row(m)[i] = sum;
        }
}

} // namespace

const OpDef op_conv2d{
    .name = "conv2d",
    .attributes = {{"stride_t", AttributeDef::Kind::integer},
                   {"stride_f", AttributeDef::Kind::integer},
                   {"groups", AttributeDef::Kind::integer},
                   {"bias", AttributeDef::Kind::integer},
                   {"frequency", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .reference = reference,
};

} // namespace longwave::ir
