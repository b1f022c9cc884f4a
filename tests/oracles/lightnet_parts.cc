#include "tests/oracles/lightnet_parts.h"
#include "formats/package/problems.h"
#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace longwave::oracles::lightnet {

double largest(std::span<const float> values) {
    double peak = 0;
    for (const float value : values) peak = std::max<double>(peak, std::fabs(value));
    return peak;
}

json input(size_t width) { return json::array({{{"name", "x"}, {"kind", "features"}, {"width", width}}}); }

void add_sequence(Trial &trial, size_t rows, std::vector<float> numbers) {
    cli::Sequence sequence;
    sequence.rows = rows;
    sequence.floats = {std::move(numbers)};
    sequence.ids.resize(1);
    trial.length = std::max(trial.length, static_cast<uint32_t>(rows));
    trial.sequences.push_back(std::move(sequence));
}

Comparison &expect(Trial &trial, const std::string &what, double peak, double limit) {
    Comparison comparison{.what = what, .output = what, .reference = {}};
    comparison.peak = peak;
    comparison.limit = limit;
    trial.comparisons.push_back(std::move(comparison));
    return trial.comparisons.back();
}

Status expect_all(const Fixture &fixture, const std::string &what, double limit, Trial &trial) {
    const package::Tensor *reference = fixture.find("ref." + what);
    if (!reference) return Status::ok();
    const size_t batch = trial.sequences.size(), size = reference->data.size() / batch;
    if (reference->shape.empty() || reference->shape[0] != batch)
        return Status::input(fixture.name + ": expected ref." + what + " of " + std::to_string(batch) +
                             " sequences, found shape " + package::shape_text(reference->shape));
    const std::span<const float> all(reference->data.data(), reference->data.size());
    Comparison &comparison = expect(trial, what, largest(all), limit);
    for (size_t b = 0; b < batch; ++b)
        comparison.reference.emplace_back(all.begin() + static_cast<ptrdiff_t>(b * size),
                                          all.begin() + static_cast<ptrdiff_t>((b + 1) * size));
    return Status::ok();
}

package::Tensor matrix(size_t out, size_t in, const std::function<float(size_t, size_t)> &value) {
    std::vector<float> data(out * in);
    for (size_t row = 0; row < out; ++row)
        for (size_t column = 0; column < in; ++column) data[row * in + column] = value(row, column);
    return {{out, in}, std::move(data)};
}

namespace {

// "silu_after_norm": the activation, then where it stands.
Status read_gate(const Fixture &fixture, const std::string &prefix, json &layer) {
    const std::string gate = fixture.config.value("gate", "none");
    if (gate == "none") {
        layer["gate"] = nullptr;
        return Status::ok();
    }
    const size_t at = gate.find('_');
    layer["gate_activation"] = gate.substr(0, at);
    layer["gate"] = at == gate.npos ? gate : gate.substr(at + 1);
    const bool fla = fixture.has("w." + prefix + "g_proj.0.weight");
    const std::string name = prefix + (fla ? "g_proj" : "output_gate");
    LW_ASSIGN(const package::Tensor *low, fixture.tensor("w." + name + ".0.weight", 2));
    layer["gate_rank"] = low->shape[0];
    layer["gate_bias"] = fixture.has("w." + name + ".0.bias");
    if (!fla) return Status::ok();
    for (const std::string part : {".0.weight", ".1.weight"})
        layer["keys"]["output_gate" + part] = name + part;
    if (layer["gate_bias"])
        for (const std::string part : {".0.bias", ".1.bias"})
            layer["keys"]["output_gate" + part] = name + part;
    return Status::ok();
}

// The square may be summed or averaged before its eps is added.
Status read_norm(const Fixture &fixture, const std::string &prefix, size_t width, json &layer) {
    const json &config = fixture.config;
    if (config.value("norm_groups", 1) != 1)
        return Status::input("norm_groups of " + config["norm_groups"].dump() + " is not supported");
    if (config.contains("norm_eps_on_sum"))
        layer["norm_eps"] = config["norm_eps_on_sum"].get<double>() / static_cast<double>(width);
    else layer["norm_eps"] = config.value("norm_eps_used", config.value("norm_eps_on_mean", 1e-6));
    if (fixture.has("w." + prefix + "g_norm.weight")) layer["keys"]["norm.weight"] = prefix + "g_norm.weight";
    return Status::ok();
}

} // namespace

Expected<json> attention(const Fixture &fixture, const std::string &prefix, const std::string &theta) {
    const json &config = fixture.config;
    LW_ASSIGN(const package::Tensor *k, fixture.tensor("w." + prefix + "k_proj.weight", 2));
    LW_ASSIGN(const package::Tensor *v, fixture.tensor("w." + prefix + "v_proj.weight", 2));
    const double heads = config.at("num_heads").get<double>();
    json layer = {{"type", "lightnet_attention"},
                  {"name", "attention"},
                  {"heads", config.at("num_heads")},
                  {"key_width", k->shape[0]},
                  {"value_width", v->shape[0]},
                  {"causal", config.value("causal", true)},
                  {"initial_sum", config.value("S0", 0)},
                  {"bias", fixture.has("w." + prefix + "k_proj.bias")},
                  {"output_bias", fixture.has("w." + prefix + "o_proj.bias")},
                  {"keys", json::object()}};
    if (!prefix.empty()) layer["prefix"] = prefix.substr(0, prefix.size() - 1);
    if (config.value("scalar_decay", false)) return Status::input("scalar_decay is not supported");
    if (const auto scale = config.find("query_scale"); scale != config.end())
        layer["scale"] = scale->is_number()    ? scale->get<double>()
                         : *scale == "dk^-1/2" ? 1 / std::sqrt(static_cast<double>(k->shape[0]) / heads)
                                               : throw std::invalid_argument("query_scale " + scale->dump());
    if (const int taps = config.value("short_conv", 0)) {
        layer["short_conv"] = taps;
        layer["conv_bias"] = config.value("conv_bias", false);
    }
    LW_TRY(read_gate(fixture, prefix, layer));
    LW_TRY(read_norm(fixture, prefix, v->shape[0], layer));
    const std::string lrpe = config.value("lrpe", "none");
    if (lrpe == "none") return layer;
    if (!lrpe.starts_with("cosine")) return Status::input("lrpe \"" + lrpe + "\" is not supported");
    layer["lrpe"] = "cosine";
    layer["keys"]["lrpe.theta"] = theta;
    return layer;
}

} // namespace longwave::oracles::lightnet
