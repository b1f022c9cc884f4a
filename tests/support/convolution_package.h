// Packages of one layer that is a long convolution alone.
#pragma once
#include "formats/package/package.h"

namespace longwave::test {

inline Expected<package::Package> one_layer_package(uint32_t channels, const nlohmann::json &layer,
                                                    std::map<std::string, package::Tensor> weights) {
    using nlohmann::json;
    const json input = {{"name", "x"}, {"kind", "features"}, {"width", channels}},
               output = {{"name", "y"}, {"from", layer["name"]}},
               model = {{"format", "longwave-model"},     {"version", 1},
                        {"name", "convolution"},          {"inputs", json::array({input})},
                        {"layers", json::array({layer})}, {"outputs", json::array({output})}};
    return package::parse(model.dump(), std::move(weights));
}

// [channel][tap]
inline Expected<package::Package> convolution_package(uint32_t channels, uint32_t taps,
                                                      const std::vector<float> &kernel) {
    std::map<std::string, package::Tensor> weights;
    const auto tensor = [&](const char *name, std::vector<uint64_t> shape, std::vector<float> values) {
        weights[std::string("conv.") + name] = {std::move(shape), std::move(values)};
    };
    tensor("kernel_list.0", {1, channels, taps}, kernel);
    tensor("kernel_norm", {1, channels, 1}, std::vector<float>(channels, 1.0f));
    tensor("kernel_norm_initialized", {}, {1.0f});
    tensor("multiplier", {1, 1, 1}, {1.0f});
    tensor("D", {1, channels}, std::vector<float>(channels, 0.0f));
    return one_layer_package(channels,
                             {{"type", "sgconv"},
                              {"name", "conv"},
                              {"kernel_dim", taps},
                              {"l_max", taps},
                              {"num_scales", 1},
                              {"linear", true},
                              {"mode", "cat_randn"}},
                             std::move(weights));
}

// The same where each output hears all channels: [output][channel][tap].
inline Expected<package::Package> mixing_package(uint32_t channels, uint32_t taps,
                                                 const std::vector<float> &kernel) {
    std::vector<float> oldest_first;
    for (auto end = kernel.begin() + taps;; end += taps) {
        oldest_first.insert(oldest_first.end(), std::make_reverse_iterator(end),
                            std::make_reverse_iterator(end - taps));
        if (end == kernel.end()) break;
    }
    return one_layer_package(
        channels,
        {{"type", "conv1d"}, {"name", "conv"}, {"out_channels", channels}, {"kernel", taps}, {"bias", false}},
        {{"conv.weight", {{channels, channels, taps}, std::move(oldest_first)}}});
}

} // namespace longwave::test
