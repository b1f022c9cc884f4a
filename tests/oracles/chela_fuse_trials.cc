// chela.short_reparam as models to run: the branches, with and without a long convolution, and the
// fused kernels as their responses to impulses.
#include "tests/oracles/chela_parts.h"
#include "tests/oracles/sgconv_model.h"
#include <algorithm>

using nlohmann::json;

namespace longwave::oracles {
namespace {

// Suggested by the fixtures' makers for float32, relative to the peak.
constexpr double fused_limit = 1e-6, branches_limit = 5e-6;

struct Response {
    std::string what;
    size_t length = 0, at = 0, channels = 0;
    std::vector<float> expected; // [length][channels], of an impulse at `at` in every channel
};

Trial impulse_trial(const Response &response, const json &layer, const Fixture &fixture) {
    Trial trial;
    trial.length = static_cast<uint32_t>(response.length);
    trial.weights = fixture.weights("conv.");
    trial.model_json =
        model_json(response.what, features("x", response.channels), json::array({layer}), {{"y", "conv"}});
    std::vector<float> impulse(response.length * response.channels);
    std::fill_n(impulse.begin() + static_cast<std::ptrdiff_t>(response.at * response.channels),
                response.channels, 1.0f);
    cli::Sequence sequence;
    sequence.rows = response.length;
    sequence.floats.push_back(std::move(impulse));
    sequence.ids.emplace_back();
    trial.sequences.push_back(std::move(sequence));
    trial.comparisons.push_back({.what = response.what,
                                 .output = "y",
                                 .reference = {response.expected},
                                 .peak = peak_of(response.expected),
                                 .limit = fused_limit});
    return trial;
}

// A row of `taps` in lag form, first at lag `lag_min`, plus what a bias adds at each position.
template <class Bias> Response response_of(const std::string &what,
                                           const std::vector<std::vector<float>> &taps, long lag_min,
                                           const Bias &bias) {
    Response response{.what = what, .channels = taps.size(), .expected = {}};
    const long n = static_cast<long>(taps[0].size());
    response.at = static_cast<size_t>(std::max(0L, -lag_min)); // room for what comes before it
    response.length = response.at + static_cast<size_t>(std::max(1L, lag_min + n));
    for (size_t t = 0; t < response.length; ++t)
        for (size_t c = 0; c < response.channels; ++c) {
            const long j = static_cast<long>(t) - static_cast<long>(response.at) - lag_min;
            const double tap = j >= 0 && j < n ? taps[c][static_cast<size_t>(j)] : 0.0;
            response.expected.push_back(static_cast<float>(tap + bias(c, t)));
        }
    return response;
}

// Rows of a tensor whose first dimension is the channel; `reversed`: the newest tap comes last.
std::vector<std::vector<float>> rows_of(const package::Tensor &tensor, bool reversed) {
    const size_t channels = tensor.shape.at(0), n = tensor.data.size() / channels;
    std::vector<std::vector<float>> rows;
    for (size_t c = 0; c < channels; ++c) {
        rows.emplace_back(tensor.data.data() + c * n, tensor.data.data() + (c + 1) * n);
        if (reversed) std::reverse(rows.back().begin(), rows.back().end());
    }
    return rows;
}

// b·Σ_{j ≤ min(t, K−1)} k[j]: what a bias before the long convolution adds behind it.
std::vector<std::vector<double>> running_sums(const package::Tensor &k0, std::span<const float> bias) {
    std::vector<std::vector<double>> sums;
    for (const std::vector<float> &k : rows_of(k0, false)) {
        std::vector<double> row;
        double sum = 0;
        for (const float tap : k) row.push_back(sum += double{tap} * bias[sums.size()]);
        sums.push_back(std::move(row));
    }
    return sums;
}

} // namespace

Expected<std::vector<Trial>> chela_reparam_trials(const Fixture &fixture) {
    LW_ASSIGN(const package::Tensor *x, fixture.tensor("in.x", 3));
    const json &config = fixture.config;
    const bool causal = config.at("causal"), serial = config.value("long_fusion", "") == "serial_linear";
    const json list = short_branches(config);
    const json branches = {{"type", "branches"},
                           {"name", "conv"},
                           {"prefix", "conv.short"},
                           {"causal", causal},
                           {"branches", list}},
               both = {{"type", "short_long"},
                       {"name", "conv"},
                       {"causal", causal},
                       {"short_branches", list},
                       {"short_mode", serial ? "serial_linear" : "parallel"},
                       {"long_d", fixture.has("w.long.D")}};
    std::vector<Trial> trials;
    for (const auto &[what, layer] : {std::pair("y", &branches), std::pair("y_long", &both)}) {
        if (!fixture.has(std::string("ref.") + what)) continue;
        Trial trial;
        LW_TRY(add_sequences(fixture, trial));
        LW_TRY(compare(fixture, what, branches_limit, trial));
        trial.weights = fixture.weights("conv.");
        trial.streams = causal;
        trial.model_json =
            model_json(fixture.name, features("x", x->shape[2]), json::array({*layer}), {{what, "conv"}});
        trials.push_back(std::move(trial));
    }

    const package::Tensor *stored = fixture.find("ref.fused_bias");
    const std::vector<float> bias = stored ? std::vector<float>(stored->data.begin(), stored->data.end())
                                           : std::vector<float>(x->shape[2]);
    const auto constant = [&](size_t c, size_t) { return double{bias.at(c)}; };
    const auto add = [&](const Response &response, const json &layer) {
        trials.push_back(impulse_trial(response, layer, fixture));
    };
    if (const package::Tensor *lag = fixture.find("ref.fused_lag"))
        add(response_of("fused_lag", rows_of(*lag, false), config.at("lag_min"), constant), branches);
    if (const package::Tensor *torch = fixture.find("ref.fused_torch"))
        add(response_of("fused_torch", rows_of(*torch, true), config.at("lag_min"), constant), branches);
    if (const package::Tensor *k0 = fixture.find("ref.fused_k0")) {
        if (serial) {
            LW_ASSIGN(const package::Tensor *k, fixture.tensor("w.long.k0", 2));
            const auto sums = running_sums(*k, bias);
            add(response_of("fused_k0", rows_of(*k0, false), 0,
                            [&](size_t c, size_t t) { return sums[c][std::min(t, sums[c].size() - 1)]; }),
                both);
        } else add(response_of("fused_k0", rows_of(*k0, false), 0, constant), both);
    }
    if (const package::Tensor *k1 = fixture.find("ref.fused_k1")) { // lag −1 first: reversed, it ends there
        const auto taps = rows_of(*k1, true);
        Response response = response_of("fused_k1", taps, -static_cast<long>(taps[0].size()), constant);
        // At the impulse itself stands k0[0], and nothing is said of what lies behind it.
        response.expected.resize(response.at * response.channels);
        Trial trial = impulse_trial(response, both, fixture);
        trial.comparisons[0].leading = true;
        trials.push_back(std::move(trial));
    }
    return trials;
}

} // namespace longwave::oracles
