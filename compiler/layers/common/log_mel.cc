// log_mel: frame → power_spectrum → linear with the mel matrix → log → affine, which is (x −
// mean)·scale.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_log_mel(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t window = integer(layer, "window"), n_fft = integer(layer, "n_fft"),
                   bands = integer(layer, "bands"), bins = n_fft / 2 + 1;
    if (n_fft < window)
        return lowering.failure(layer, "n_fft",
                                "at least the window of " + std::to_string(window) + " samples",
                                std::to_string(n_fft));
    const ir::ValueId window_values = lowering.weight(layer, "window", {window}),
                      scale = lowering.weight(layer, "scale", {bands});

    // Stored (bins, bands), as torch multiplies a row by it; the op's weights are (out, in).
    const std::vector<double> mel = lowering.numbers(layer, "mel", {bins, bands});
    std::vector<double> mel_rows(mel.size());
    for (size_t i = 0; i < mel.size(); ++i) mel_rows[i % bands * bins + i / bands] = mel[i];

    const std::vector<double> mean = lowering.numbers(layer, "mean", {bands});
    std::vector<double> shift;
    if (const package::Tensor *factors = lowering.find(layer, "scale");
        factors && factors->data.size() == mean.size())
        for (size_t i = 0; i < mean.size(); ++i) shift.push_back(-mean[i] * double{factors->data[i]});

    LW_ASSIGN(Flow x, lowering.node(layer, "frame", {inputs[0].value, window_values},
                                    {{"window", int64_t{window}}, {"hop", int64_t{integer(layer, "hop")}}},
                                    Form::features));
    LW_ASSIGN(x,
              lowering.node(layer, "power_spectrum", {x.value}, {{"n_fft", int64_t{n_fft}}}, Form::features));
    LW_ASSIGN(x, lowering.node(layer, "linear",
                               {x.value, lowering.constant(layer.key("mel") + ".rows", {bands, bins},
                                                           std::move(mel_rows))},
                               {{"bias", int64_t{0}}, {"weights", std::string("float32")}}, Form::features));
    LW_ASSIGN(x,
              lowering.node(layer, "log", {x.value}, {{"offset", number(layer, "offset")}}, Form::features));
    return lowering.node(
        layer, "affine",
        {x.value, scale, lowering.constant(layer.key("mean") + ".shift", {bands}, std::move(shift))}, {},
        Form::features);
}

} // namespace longwave::compiler::layers
