// Small models for tests: one input, a list of layers, weights of given shapes.
#pragma once
#include "compiler/layers/lower.h"
#include <string>

namespace longwave::tests {

using Weights = std::map<std::string, package::Tensor>;
using Shapes = std::vector<std::pair<std::string, std::vector<uint64_t>>>;

// All elements are `value`.
inline Weights weights_of(const Shapes &shapes, float value = 1) {
    Weights weights;
    for (const auto &[key, shape] : shapes) {
        uint64_t n = 1;
        for (auto d : shape) n *= d;
        weights[key] = {shape, std::vector<float>(n, value)};
    }
    return weights;
}

// One element, in a copy: tensors do not change.
inline void set(package::Tensor &tensor, size_t index, float value) {
    std::vector<float> data(tensor.data.begin(), tensor.data.end());
    data.at(index) = value;
    tensor.data = std::move(data);
}

// `input`: "features 4", "audio 16000" or "tokens 10", named x. The output "y" comes from the last
// layer.
inline Expected<package::Package> tiny(const std::string &input, const std::string &layers_json,
                                       Weights weights) {
    using nlohmann::json;
    const size_t space = input.find(' ');
    const std::string kind = input.substr(0, space);
    const json layers = json::parse(layers_json);
    json model = {{"format", "longwave-model"}, {"version", 1}, {"name", "tiny"}, {"layers", layers}};
    model["inputs"] = json::array({{{"name", "x"},
                                    {"kind", kind},
                                    {kind == "audio"    ? "sample_rate"
                                     : kind == "tokens" ? "vocabulary"
                                                        : "width",
                                     std::stoi(input.substr(space))}}});
    model["outputs"] = json::array({{{"name", "y"}, {"from", layers.back()["name"]}}});
    return package::parse(model.dump(), std::move(weights));
}

inline Expected<ir::Graph> lowered(const std::string &input, const std::string &layers_json,
                                   Weights weights) {
    LW_ASSIGN(const package::Package package, tiny(input, layers_json, std::move(weights)));
    return compiler::lower(package);
}

} // namespace longwave::tests
