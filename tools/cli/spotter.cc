#include "tools/cli/spotter.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {
namespace {

Expected<double> number(const std::string &text, const std::string &flag) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || !(value >= 0 && value <= 1)) return Status::usage(flag + ": a threshold is a number from 0 to 1");
    return value;
}

Status set_threshold(Decision &decision, const std::string &text) {
    const std::string flag = "--threshold " + text;
    const size_t equals = text.find('=');
    LW_ASSIGN(const double value, number(equals == std::string::npos ? text : text.substr(equals + 1), flag));
    if (equals == std::string::npos) {
        std::fill(decision.threshold.begin(), decision.threshold.end(), static_cast<float>(value));
        return {};
    }
    const auto label = std::find(decision.labels.begin(), decision.labels.end(), text.substr(0, equals));
    if (label == decision.labels.end()) {
        std::string names;
        for (const auto &name : decision.labels) names += (names.empty() ? "" : ", ") + name;
        return Status::usage(flag + ": the model has no such word; it has " + names);
    }
    decision.threshold[static_cast<size_t>(label - decision.labels.begin())] = static_cast<float>(value);
    return {};
}

} // namespace

Expected<Decision> decision_of(const artifact::View &artifact, const Model &model, const DecisionFlags &flags) {
    const artifact::fb::Decision *stored = artifact.plan().decision();
    if (!stored || model.labels.empty())
        return Status::usage(std::string(model.info.name) + ": the artifact has no keyword decision settings (\"decision\" and \"labels\" in model.json)");
    Decision result;
    const std::string name = stored->output() ? stored->output()->str() : "";
    const int output = model.stream_output(name);
    if (output < 0) return Status::input("the decision settings read output \"" + name + "\", which the stream does not have");
    result.output = static_cast<uint32_t>(output);
    if (model.stream_outputs[result.output].width != model.labels.size())
        return Status::input("the decision settings read output \"" + name + "\", whose width is not the number of labels");
    result.labels = model.labels;
    result.threshold.assign(model.labels.size(), stored->default_threshold());
    result.ignored.assign(model.labels.size(), false);
    if (stored->thresholds())
        for (const auto *threshold : *stored->thresholds())
            if (threshold->label() < model.labels.size()) result.threshold[threshold->label()] = threshold->value();
    if (stored->ignore())
        for (const uint16_t label : *stored->ignore())
            if (label < model.labels.size()) result.ignored[label] = true;
    result.smoothing_ms = flags.smoothing_ms.value_or(stored->smoothing_ms());
    result.release = flags.release.value_or(stored->release());
    result.refractory_ms = flags.refractory_ms.value_or(stored->refractory_ms());
    result.min_count = flags.min_count.value_or(stored->min_count());
    for (const auto &text : flags.thresholds) LW_TRY(set_threshold(result, text));
    return result;
}

nlohmann::ordered_json to_json(const Decision &decision) {
    nlohmann::ordered_json thresholds;
    for (size_t i = 0; i < decision.labels.size(); i++)
        if (!decision.ignored[i]) thresholds[decision.labels[i]] = decision.threshold[i];
    return {{"thresholds", thresholds},       {"smoothing_ms", decision.smoothing_ms},   {"min_count", decision.min_count},
            {"release", decision.release},    {"refractory_ms", decision.refractory_ms}};
}

Spotter::Spotter(Decision decision, double row_seconds)
    : decision_(std::move(decision)), row_seconds_(row_seconds),
      window_(std::max<size_t>(1, static_cast<size_t>(std::lround(decision_.smoothing_ms / 1000 / row_seconds)))) {
    reset();
}

void Spotter::reset() {
    const size_t labels = decision_.labels.size();
    ring_.assign(window_ * labels, 0);
    at_ = 0;
    risen_.assign(labels, std::nullopt);
    reached_.assign(labels, std::nullopt);
    mean_.assign(labels, 0);
    top_ = count_ = 0;
    holding_.reset();
    quiet_until_ = -1;
}

std::optional<Event> Spotter::row(const float *scores, uint64_t row, double t) {
    const size_t labels = decision_.labels.size();
    std::copy(scores, scores + labels, ring_.begin() + static_cast<std::ptrdiff_t>(at_ * labels));
    at_ = (at_ + 1) % window_;
    for (size_t i = 0; i < labels; i++) {
        double sum = 0; // anew each time: a running sum would drift over days
        for (size_t k = 0; k < window_; k++) sum += ring_[k * labels + i];
        mean_[i] = sum / static_cast<double>(window_);
        if (scores[i] >= level(i)) {
            if (!risen_[i]) risen_[i] = t - row_seconds_;
        } else if (mean_[i] < level(i)) {
            risen_[i].reset();
            reached_[i].reset();
        }
        if (scores[i] >= decision_.threshold[i] && !reached_[i]) reached_[i] = t;
    }

    const auto top = static_cast<uint32_t>(std::max_element(mean_.begin(), mean_.end()) - mean_.begin());
    const bool strong = !decision_.ignored[top] && mean_[top] >= decision_.threshold[top];
    count_ = !strong ? 0 : top == top_ ? count_ + 1 : 1;
    top_ = top;

    if (holding_) {
        if (mean_[*holding_] >= level(*holding_)) return std::nullopt;
        holding_.reset();
        quiet_until_ = t + decision_.refractory_ms / 1000;
    }
    if (t < quiet_until_ || count_ < std::max(1u, decision_.min_count)) return std::nullopt;
    holding_ = top;
    const double start = std::max(0.0, risen_[top].value_or(t - row_seconds_));
    return Event{top, static_cast<float>(mean_[top]), t, start, 1000 * (t - reached_[top].value_or(t)), row};
}

} // namespace longwave::cli
