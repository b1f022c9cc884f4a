// orchid: three projections, short convolutions, s0·(c ⊛ (s1·s2)), a residual long convolution of
// the input, and the output projection. c is a static kernel plus a kernel computed from the
// sequence. ⊛ is a product of transforms of the full sequence: circular_conv if the kernel is known
// in time, spectral_conv if it is a spectrum.
#include "compiler/layers/layers.h"
#include "compiler/layers/orchid/hyena_filter.h"
#include "compiler/layers/orchid/orchid_kernel.h"

namespace longwave::compiler::layers {
namespace {

class Operator {
public:
    Operator(Lowering &lowering, const Layer &layer, uint32_t width)
        : lowering_(lowering), layer_(layer), width_(width),
          transform_(layer.attributes.at("transform").get<std::string>()) {}

    Expected<Flow> projection(Flow x, uint32_t part) {
        return lowering_.node(layer_, "linear",
                              {x.value,
                               third("in_linear.weight", {3 * width_, width_}, {width_, width_}, part),
                               third("in_linear.bias", {3 * width_}, {width_}, part)},
                              {{"bias", int64_t{1}}}, Form::features);
    }
    // Causal: the taps ahead are zero.
    Expected<Flow> short_conv(Flow x, uint32_t part) {
        const uint32_t taps = integer(layer_, "short_conv"), all = 2 * taps - 1;
        const std::vector<double> given =
            lowering_.numbers(layer_, "conv1d_short.weight", {3 * width_, 1, taps});
        std::vector<float> centred(given.empty() ? 0 : size_t{width_} * all, 0.f); // empty: a problem
        for (size_t c = 0; c < width_ && !given.empty(); ++c)
            for (size_t i = 0; i < taps; ++i)
                centred[c * all + i] = static_cast<float>(given[(part * width_ + c) * taps + i]);
        return lowering_.node(
            layer_, "centred_conv",
            {x.value,
             lowering_.constant(layer_.key("conv1d_short.weight") + "." + std::to_string(part), {width_, all},
                                SharedArray<float>(std::move(centred))),
             third("conv1d_short.bias", {3 * width_}, {width_}, part)},
            {{"bias", int64_t{1}}}, Form::features);
    }
    // With the static kernel under `prefix`, and one from the sequence.
    Expected<Flow> convolved(Flow x, const char *prefix, const AdaptiveKernel *made) {
        const uint32_t l_max = integer(layer_, "l_max");
        const HyenaFilter fixed = hyena_filter(lowering_, layer_, prefix, width_, l_max,
                                               integer(layer_, "filter_order"), integer(layer_, "emb_dim"),
                                               integer(layer_, "num_inner_mlps"), number(layer_, "shift"));
        const bool in_time = transform_.starts_with("fft") && (!made || made->in_time);
        if (!in_time) {
            LW_ASSIGN(x, orchid_spectrum(lowering_, layer_, x));
        }
        std::vector<ir::ValueId> operands = {x.value, fixed.taps, fixed.bias};
        if (made) operands.push_back(made->rows.value);
        return lowering_.node(layer_, in_time ? "circular_conv" : "spectral_conv", std::move(operands),
                              {{"transform", transform_}, {"l_max", int64_t{l_max}}}, Form::features);
    }

private:
    // Rows part·width … of a tensor that holds three of them.
    ir::ValueId third(const std::string &parameter, const std::vector<uint32_t> &whole,
                      const std::vector<uint32_t> &shape, uint32_t part) {
        const std::vector<double> all = lowering_.numbers(layer_, parameter, whole);
        const auto size = static_cast<ptrdiff_t>(all.size() / 3);
        std::vector<float> values(all.begin() + part * size, all.begin() + (part + 1) * size);
        return lowering_.constant(layer_.key(parameter) + "." + std::to_string(part), shape,
                                  SharedArray<float>(std::move(values)));
    }

    Lowering &lowering_;
    const Layer &layer_;
    const uint32_t width_;
    const std::string transform_;
};

} // namespace

Expected<Flow> lower_orchid(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const Flow x = inputs[0];
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, x));
    const std::string transform = layer.attributes.at("transform").get<std::string>();
    // Rows of two parts of one channel would lie as those of two channels do (Type::row), which the
    // kernels of spectra do not read. Little is lost: the conditioning network normalises over the
    // channels.
    if (width == 1 && transform.starts_with("fft"))
        return lowering.failure(layer, "transform", "dct or dctxd-o for one feature",
                                package::in_quotes(transform), "Fourier transforms need 2 features or more");
    Operator op(lowering, layer, width);
    std::vector<Flow> projections, shorts;
    for (uint32_t part = 0; part < 3; ++part) {
        LW_ASSIGN(const Flow projected, op.projection(x, part));
        LW_ASSIGN(const Flow filtered, op.short_conv(projected, part));
        projections.push_back(projected);
        shorts.push_back(filtered);
    }
    // Of the projection before its short convolution.
    LW_ASSIGN(const AdaptiveKernel made, orchid_kernel(lowering, layer, projections[2]));
    LW_ASSIGN(Flow y, lowering.node(layer, "mul", {shorts[1].value, shorts[2].value}, {}, Form::features));
    LW_ASSIGN(y, op.convolved(y, "fixed_conv", &made));
    LW_ASSIGN(y, lowering.node(layer, "mul", {y.value, shorts[0].value}, {}, Form::features));
    if (flag(layer, "residual_long_conv")) {
        LW_ASSIGN(const Flow residual, op.convolved(x, "fixed_conv_res", nullptr));
        LW_ASSIGN(y, lowering.node(layer, "add", {residual.value, y.value}, {}, Form::features));
    }
    return lowering.product(layer, "out_linear", y, width, true);
}

} // namespace longwave::compiler::layers
