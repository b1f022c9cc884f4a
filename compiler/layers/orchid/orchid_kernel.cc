#include "compiler/layers/orchid/orchid_kernel.h"
#include <functional>

namespace longwave::compiler::layers {
namespace {

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

} // namespace

Expected<Flow> orchid_spectrum(Lowering &lowering, const Layer &layer, Flow x, bool doubled, bool magnitude) {
    return lowering.node(layer, "sequence_spectrum", {x.value},
                         {{"transform", text(layer, "transform")},
                          {"doubled", int64_t{doubled}},
                          {"magnitude", int64_t{magnitude}}},
                         fourier(layer) && !magnitude ? Form::flat : Form::features);
}

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

} // namespace longwave::compiler::layers
