#include "tests/oracles/chela_parts.h"
#include "formats/package/problems.h"
#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace longwave::oracles {

double peak_of(std::span<const float> values) {
    double peak = 0;
    for (const float v : values) peak = std::max(peak, std::abs(double{v}));
    return peak;
}

json short_branches(const json &config) {
    json list = json::array();
    for (const json &branch : config.at("short_branches")) {
        json one = {{"batch_norm", branch.at("bn")}, {"eps", config.value("bn_eps", 1e-5)}};
        if (branch.at("type") == "identity") {
            one["kind"] = "identity";
        } else {
            one["kind"] = "conv1d";
            one["kernel"] = branch.at("size");
            one["dilation"] = branch.at("dilation");
            one["bias"] = branch.at("bias");
        }
        list.push_back(std::move(one));
    }
    return list;
}

json features(const std::string &name, size_t width) {
    return json::array({{{"name", name}, {"kind", "features"}, {"width", width}}});
}

Status add_sequences(const Fixture &fixture, Trial &trial) {
    const bool tokens = fixture.has("in.ids");
    LW_ASSIGN(const package::Tensor *x, tokens ? fixture.tensor("in.ids", 2) : fixture.tensor("in.x", 3));
    const size_t batch = x->shape[0], rows = x->shape[1], width = tokens ? 1 : x->shape[2];
    trial.length = static_cast<uint32_t>(rows);
    for (size_t b = 0; b < batch; ++b) {
        const auto first = x->data.begin() + static_cast<std::ptrdiff_t>(b * rows * width);
        const auto last = first + static_cast<std::ptrdiff_t>(rows * width);
        cli::Sequence sequence;
        sequence.rows = rows;
        sequence.floats.emplace_back();
        sequence.ids.emplace_back();
        if (tokens) sequence.ids.back().assign(first, last);
        else sequence.floats.back().assign(first, last);
        trial.sequences.push_back(std::move(sequence));
    }
    return Status::ok();
}

Status compare(const Fixture &fixture, const std::string &what, double limit, Trial &trial, bool whole) {
    const package::Tensor *reference = fixture.find("ref." + what);
    if (!reference) return Status::ok();
    const size_t batch = trial.sequences.size();
    if (reference->shape.size() < 2 || reference->shape[0] != batch)
        return Status::input(fixture.name + ": expected tensor ref." + what + " of " + std::to_string(batch) +
                             " sequences, found shape " + package::shape_text(reference->shape));
    Comparison comparison{.what = what, .output = what, .reference = {}};
    comparison.peak = peak_of({reference->data.data(), reference->data.size()});
    comparison.limit = limit;
    comparison.whole = whole;
    const size_t part = reference->data.size() / batch;
    for (size_t b = 0; b < batch; ++b)
        comparison.reference.emplace_back(reference->data.data() + b * part,
                                          reference->data.data() + (b + 1) * part);
    trial.comparisons.push_back(std::move(comparison));
    return Status::ok();
}

} // namespace longwave::oracles
