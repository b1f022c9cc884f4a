#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"

using nlohmann::json;

namespace longwave::test {

namespace {

float scale_of(uint64_t terms) { return 1.7f / std::sqrt(static_cast<float>(terms)); } // variance 1 / terms

} // namespace

json features_input(uint64_t width) { return {{"name", "x"}, {"kind", "features"}, {"width", width}}; }
json tokens_input(uint64_t vocabulary) {
    return {{"name", "ids"}, {"kind", "tokens"}, {"vocabulary", vocabulary}};
}

void LayerPackage::tensor(const std::string &name, std::vector<uint64_t> shape, float scale, float mean) {
    uint64_t n = 1;
    for (const uint64_t extent : shape) n *= extent;
    std::vector<float> values = random_numbers(n, seed_++, scale);
    for (float &value : values) value += mean;
    weights_[name] = {std::move(shape), std::move(values)};
}

void LayerPackage::plain(const std::string &type, const std::string &name) {
    layers_.push_back({{"type", type}, {"name", name}});
}

void LayerPackage::linear(const std::string &name, uint64_t in, uint64_t out, float gain) {
    layers_.push_back({{"type", "linear"}, {"name", name}, {"out_features", out}});
    tensor(name + ".weight", {out, in}, gain * scale_of(in));
    tensor(name + ".bias", {out}, 0.2f);
}

void LayerPackage::layer_norm(const std::string &name, uint64_t channels) {
    layers_.push_back({{"type", "layer_norm"}, {"name", name}});
    tensor(name + ".weight", {channels}, 0.2f, 1);
    tensor(name + ".bias", {channels}, 0.2f);
}

void LayerPackage::embedding(const std::string &name, uint64_t vocabulary, uint64_t channels) {
    layers_.push_back(
        {{"type", "embedding"}, {"name", name}, {"vocabulary", vocabulary}, {"width", channels}});
    tensor(name + ".weight", {vocabulary, channels}, 1.7f);
}

void LayerPackage::conv1d(const std::string &name, uint64_t in, uint64_t out, uint64_t kernel,
                          uint64_t stride) {
    layers_.push_back(
        {{"type", "conv1d"}, {"name", name}, {"out_channels", out}, {"kernel", kernel}, {"stride", stride}});
    tensor(name + ".weight", {out, in, kernel}, scale_of(in * kernel));
    tensor(name + ".bias", {out}, 0.2f);
}

void LayerPackage::sgconv(const std::string &name, uint64_t channels, uint32_t l_max, const Long &how) {
    json layer = {{"type", "sgconv"},
                  {"name", name},
                  {"kernel_dim", how.kernel_dim},
                  {"l_max", l_max},
                  {"postact", "glu"}};
    if (how.two_sided) layer["bidirectional"] = true;
    if (how.copies > 1) layer["channels"] = how.copies;
    if (how.alone) layer["linear"] = true, layer.erase("postact");
    layers_.push_back(std::move(layer));
    const uint64_t sides = (how.two_sided ? 2 : 1) * how.copies, inputs = how.copies * channels;
    for (uint32_t scale = 0; how.kernel_dim << scale < 2 * l_max; ++scale)
        tensor(name + ".kernel_list." + std::to_string(scale), {sides, channels, how.kernel_dim}, 0.5f);
    tensor(name + ".kernel_norm", {sides, channels, 1}, 0, how.norm);
    weights_[name + ".kernel_norm_initialized"] = {{}, {1.0f}};
    tensor(name + ".multiplier", {1, channels, 1}, 0, 2);
    tensor(name + ".D", {how.copies, channels}, 0.5f);
    if (how.alone) return;
    tensor(name + ".output_linear.0.weight", {2 * channels, inputs}, scale_of(inputs));
    tensor(name + ".output_linear.0.bias", {2 * channels}, 0.2f);
}

Expected<compiler::Compiled> LayerPackage::compile(const compiler::Options &options) const {
    const json model = {{"format", "longwave-model"},
                        {"version", 1},
                        {"name", "layers"},
                        {"inputs", json::array({input_})},
                        {"layers", layers_},
                        {"outputs", json::array({{{"name", "y"}, {"from", layers_.back()["name"]}}})}};
    return compiled(model.dump(), weights_, options);
}

} // namespace longwave::test
