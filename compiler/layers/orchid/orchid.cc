// orchid: three projections, short convolutions, s0·(c ⊛ (s1·s2)), a residual long convolution of
// the input, and the output projection. c is a static kernel plus a kernel computed from the
// sequence. ⊛ is a product of transforms of the full sequence: circular_conv if the kernel is known
// in time, spectral_conv if it is a spectrum.
#include "compiler/layers/layers.h"
#include "compiler/layers/lowering.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace longwave::compiler::layers {
namespace {

// The implicit kernel of Hyena (Poli et al. 2023), which Orchid uses for its static kernels: an MLP
// with sines of a position, times an exponential decay.

// Taps [width, l_max] in float64 and the bias [width], as constants, from the tensors under
// `prefix` ("fixed_conv"). A filter of sequences shorter than l_max is cut, not resampled. `inner`:
// layers between the first and the last.
struct HyenaFilter {
    ir::ValueId taps, bias;
};

struct Stage {
    std::vector<double> weight, bias, freq; // [out, in], [out], [out]: sin(freq·(weight·x + bias))
};

std::vector<double> product(const std::vector<double> &weight, const std::vector<double> &x, size_t outputs) {
    std::vector<double> y(outputs);
    for (size_t o = 0; o < outputs; ++o)
        for (size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
    return y;
}

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

// Orchid's conditioning networks: from a projection of the sequence to the kernel that this
// sequence is convolved with (Karami and Ghodsi 2024, Eq. 2 and 3; the variants of the published
// code).

struct AdaptiveKernel {
    Flow rows;
    bool in_time = false; // taps, one a row; else its spectrum
};

std::string text(const Layer &layer, const char *name) {
    return layer.attributes.at(name).get<std::string>();
}

// How features of a convolution's row are counted in the official tensors, and in ours: part, then
// channel.
enum class Order { same, interleaved };

class Network {
public:
    Network(Lowering &lowering, const Layer &layer, uint32_t width)
        : lowering_(lowering), layer_(layer), width_(width), taps_(integer(layer, "kernel_size")),
          layers_(integer(layer, "kernel_layers")) {}

    // conv → activation (but for the last) → LayerNorm, `layers_` times. `first`: groups of the
    // first one.
    struct Groups {
        const char *first = "channel", *others = "channel";
        uint32_t inputs = 1, outputs = 1; // of a group
        bool half = false;                // the rows are the bins of a Fourier spectrum
        Order order = Order::same;
    };
    Expected<Flow> apply(const std::string &name, Flow x, const Groups &form) {
        for (uint32_t n = 0; n < layers_; ++n) {
            const std::string number = std::to_string(n), conv = name + ".conv1d_ls." + number + ".",
                              norm = name + ".norm_ls." + number + ".norm_conv_kernel.";
            const uint32_t out = form.outputs * width_, in = n ? form.outputs : form.inputs;
            LW_ASSIGN(x, lowering_.node(layer_, "grouped_conv",
                                        {x.value, tensor(conv + "weight", {out, in, taps_}, form.order),
                                         tensor(conv + "bias", {out}, form.order)},
                                        {{"groups", std::string(n ? form.others : form.first)},
                                         {"half", int64_t{form.half}}},
                                        row_form(form.outputs)));
            const std::string activation = text(layer_, "kernel_activation");
            if (n + 1 < layers_ && activation != "identity") {
                LW_ASSIGN(x, lowering_.node(layer_, activation, {x.value}, {}, x.form));
            }
            LW_ASSIGN(x, lowering_.node(layer_, "layer_norm",
                                        {x.value, tensor(norm + "weight", {out}, form.order),
                                         tensor(norm + "bias", {out}, form.order)},
                                        {{"eps", 1e-5}}, x.form));
        }
        return x;
    }

private:
    static Form row_form(uint32_t parts) { return parts == 1 ? Form::features : Form::flat; }

    // With outputs in our order: official output 2c + p is part p of channel c where they are
    // interleaved.
    ir::ValueId tensor(const std::string &name, const std::vector<uint32_t> &shape, Order order) {
        const std::string parameter = "conv_kernel_nn." + name;
        if (order == Order::same) return lowering_.weight(layer_, parameter, shape);
        const std::vector<double> given = lowering_.numbers(layer_, parameter, shape);
        const size_t each = given.size() / shape[0];
        std::vector<float> ordered;
        for (size_t part = 0; part < 2 && each > 0; ++part)
            for (size_t c = 0; c < width_; ++c)
                for (size_t i = 0; i < each; ++i)
                    ordered.push_back(static_cast<float>(given[(2 * c + part) * each + i]));
        return lowering_.constant(layer_.key(parameter) + ".by_part", shape,
                                  SharedArray<float>(std::move(ordered)));
    }

    Lowering &lowering_;
    const Layer &layer_;
    const uint32_t width_, taps_, layers_;
};

bool fourier(const Layer &layer) { return text(layer, "transform").starts_with("fft"); }

// Rows of the transform of a sequence: {2, width} or {width}.
Expected<Flow> orchid_spectrum(Lowering &lowering, const Layer &layer, Flow x, bool doubled = false,
                               bool magnitude = false) {
    return lowering.node(layer, "sequence_spectrum", {x.value},
                         {{"transform", text(layer, "transform")},
                          {"doubled", int64_t{doubled}},
                          {"magnitude", int64_t{magnitude}}},
                         fourier(layer) && !magnitude ? Form::flat : Form::features);
}

// Eq. 3: conj(F k)·σ(F q).
Expected<Flow> correlation(Lowering &lowering, const Layer &layer, Network &network, Flow x,
                           bool on_frequency) {
    std::vector<ir::ValueId> spectra;
    for (const char *name : {"nn_model_k", "nn_model_q"}) {
        LW_ASSIGN(const Flow made, network.apply(name, x, {}));
        LW_ASSIGN(const Flow spectrum, orchid_spectrum(lowering, layer, made));
        spectra.push_back(spectrum.value);
    }
    const std::string sigma = text(layer, "actq");
    LW_ASSIGN(const Flow h, lowering.node(layer, "correlate", spectra,
                                          {{"activation", sigma.substr(0, sigma.find('_'))},
                                           {"magnitude", int64_t{sigma.ends_with("_abs")}}},
                                          fourier(layer) ? Form::flat : Form::features));
    if (!on_frequency) return h;
    if (!fourier(layer)) return network.apply("nn_model_frq", h, {});
    return network.apply("nn_model_frq", h,
                         {.first = "halves", .others = "halves", .inputs = 2, .outputs = 2, .half = true});
}

// `x`: {width} features a row. Failure: a combination of attributes that the published code cannot
// run either.
Expected<AdaptiveKernel> orchid_kernel(Lowering &lowering, const Layer &layer, Flow x) {
    const std::string kind = text(layer, "conditioning"), network_name = text(layer, "network");
    const bool on_time = network_name.ends_with("t") || network_name.ends_with("tf"),
               on_frequency = network_name.ends_with("f"), causal = flag(layer, "causal"),
               is_fourier = fourier(layer);
    if (integer(layer, "kernel_size") % 2 == 0)
        return lowering.failure(layer, "kernel_size", "an odd number of taps",
                                std::to_string(integer(layer, "kernel_size")));
    if (kind == "corrTime" && is_fourier && causal)
        return lowering.failure(layer, "causal",
                                "false with corrTime and a Fourier transform: it multiplies spectra of "
                                "the sequence's length",
                                "true");
    if (kind == "freq" && is_fourier && !on_frequency)
        return lowering.failure(layer, "network",
                                "a convolution over frequency (convf or convtf) with freq and a Fourier "
                                "transform",
                                package::in_quotes(network_name));
    Network network(lowering, layer, lowering.width(x));
    if (kind == "corrTime") {
        LW_ASSIGN(const Flow h, correlation(lowering, layer, network, x, network_name.ends_with("tf")));
        return AdaptiveKernel{h};
    }
    Flow h = x;
    if (on_time) {
        LW_ASSIGN(h, network.apply("nn_model", h, {}));
    }
    // A cosine transform there and back again is none, so only the Fourier ones go through time.
    const bool in_time = causal && is_fourier, pairs = kind == "freq";
    LW_ASSIGN(h, orchid_spectrum(lowering, layer, h, in_time, !pairs));
    if (on_frequency) {
        const char *name = on_time ? "nn_model2" : "nn_model";
        Network::Groups form;
        if (is_fourier)
            form = {.first = pairs ? "pairs" : "channel",
                    .inputs = pairs ? 2u : 1u,
                    .outputs = 2,
                    .half = true,
                    .order = Order::interleaved};
        LW_ASSIGN(h, network.apply(name, h, form));
    }
    if (in_time) {
        LW_ASSIGN(h, lowering.node(layer, "sequence_taps", {h.value},
                                   {{"transform", text(layer, "transform")}}, Form::features));
    }
    return AdaptiveKernel{h, in_time};
}

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
