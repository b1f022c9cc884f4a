// Orchid's operator, and the blocks of M2-BERT around it: the whole sequence, every one of a batch
// by itself.
#include "formats/package/problems.h"
#include "tests/oracles/kinds.h"
#include "tests/oracles/sgconv_model.h"
#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace longwave::oracles {
namespace {

constexpr double operator_limit = 1e-5, block_limit = 2e-5; // docs/testing.md

Status only(const json &config, const char *name, const json &supported) {
    if (!config.contains(name) || config.at(name) == supported) return Status::ok();
    return Status::input(std::string(name) + " expected " + supported.dump() + ", found " +
                         config.at(name).dump());
}

Expected<json> operator_layer(const json &config, const std::string &name) {
    const json &kernel = config.at("conv_kernel");
    LW_TRY(only(config, "order", 2));
    LW_TRY(only(config, "chain", "*-c-*"));
    LW_TRY(only(kernel, "norm", "layernorm"));
    LW_TRY(only(kernel, "padding_mode", "zeros"));
    const json &residual = config.at("residual_long_conv");
    return json{{"type", "orchid"},
                {"name", name},
                {"l_max", config.at("l_max")},
                {"transform", config.at("transform")},
                {"conditioning", kernel.at("type")},
                {"network", kernel.at("nn")},
                {"kernel_size", kernel.at("conv_filter_size")},
                {"kernel_layers", kernel.at("n_layer")},
                {"kernel_activation", kernel.at("activation")},
                {"actq", kernel.at("actq")},
                {"causal", config.at("causal_flag")},
                {"short_conv", config.at("short_filter_order")},
                {"residual_long_conv", residual == "sconv"},
                {"filter_order", config.at("filter_order")},
                {"emb_dim", config.at("emb_dim")},
                {"num_inner_mlps", config.at("num_inner_mlps")},
                {"shift", config.at("modulation").at("shift")}};
}

// Sequence b of a batch.
std::vector<float> sequence_of(const package::Tensor &batch, size_t b) {
    const size_t size = batch.shape[1] * batch.shape[2];
    return {batch.data.data() + b * size, batch.data.data() + (b + 1) * size};
}

} // namespace

Expected<std::vector<Trial>> orchid_trials(const Fixture &fixture) {
    const bool blocks = fixture.config.contains("mlp");
    LW_ASSIGN(const package::Tensor *x, fixture.tensor("in.x", 3));
    LW_ASSIGN(const package::Tensor *y, fixture.tensor("ref.y", 3));
    if (x->shape != y->shape)
        return Status::input(fixture.name + ": expected ref.y of shape " + package::shape_text(x->shape) +
                             ", found " + package::shape_text(y->shape));
    json layers = json::array();
    if (blocks) {
        const json &mlp = fixture.config.at("mlp");
        LW_TRY(only(mlp, "act", "gelu"));
        for (size_t n = 0; n < fixture.config.at("n_layers").get<size_t>(); ++n) {
            const std::string name = "layer." + std::to_string(n);
            LW_ASSIGN(json mixer, operator_layer(fixture.config, name + ".attention"));
            layers.push_back(std::move(mixer));
            layers.push_back({{"type", "m2_mlp"},
                              {"name", name + ".mlp"},
                              {"intermediate", mlp.at("intermediate")},
                              {"blocks", mlp.at("monarch_nblocks")},
                              {"eps", mlp.at("ln_eps")}});
        }
    } else {
        LW_ASSIGN(json mixer, operator_layer(fixture.config, "mixer"));
        layers.push_back(std::move(mixer));
    }
    Trial trial;
    trial.weights = fixture.weights(blocks ? "" : "mixer.");
    trial.length = static_cast<uint32_t>(x->shape[1]);
    Comparison comparison{.what = "y", .output = "y", .reference = {}, .stream = false};
    comparison.limit = blocks ? block_limit : operator_limit;
    for (const float value : y->data) comparison.peak = std::max(comparison.peak, std::fabs(double{value}));
    for (size_t b = 0; b < x->shape[0]; ++b) {
        cli::Sequence sequence;
        sequence.rows = x->shape[1];
        sequence.floats.push_back(sequence_of(*x, b));
        sequence.ids.emplace_back();
        trial.sequences.push_back(std::move(sequence));
        comparison.reference.push_back(sequence_of(*y, b));
    }
    trial.comparisons.push_back(std::move(comparison));
    const std::string last = layers.back().at("name");
    trial.model_json =
        model_json(fixture.name, json::array({{{"name", "x"}, {"kind", "features"}, {"width", x->shape[2]}}}),
                   std::move(layers), {{"y", last}});
    return std::vector<Trial>{std::move(trial)};
}

} // namespace longwave::oracles
