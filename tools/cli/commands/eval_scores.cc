#include "tools/cli/commands/eval_scores.h"
#include "runtime/kws/decision.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {

Expected<Scorer> Scorer::create(const artifact::View &artifact, const Model &model, const Spotter &spotter) {
    const int output = model.stream_output(artifact.plan().decision()->output()->str());
    if (output < 0) return Status::usage("the stream has no output for the decision rule");
    Scorer scorer;
    LW_ASSIGN(scorer.stream_, Stream::create(model));
    scorer.output_ = static_cast<uint32_t>(output);
    const lw_output_info &info = model.stream_outputs[scorer.output_];
    scorer.ticks_num_ = info.clock_den;
    scorer.ticks_den_ = std::max<uint64_t>(1, info.clock_num);
    scorer.delay_ = info.delay;
    const auto &settings = spotter.settings();
    const double rows_per_ms = spotter.rate() / 1000 * info.clock_num / info.clock_den;
    const auto rows = [&](const char *key, double least) {
        return static_cast<uint32_t>(std::max(least, settings[key].get<double>() * rows_per_ms + 0.5));
    };
    scorer.window_ = rows("smoothing_ms", 1);
    scorer.refractory_ = rows("refractory_ms", 0);
    scorer.min_count_ = std::max(1u, settings["min_count"].get<uint32_t>());
    scorer.release_ = settings["release"].get<float>();
    for (uint32_t i = 0; i < model.labels.size(); i++)
        scorer.thresholds_.push_back(spotter.fires(i) ? spotter.threshold(i) : 2);
    return scorer;
}

Status Scorer::push(const std::vector<float> &samples, Scores &scores) {
    scores.labels = thresholds_.size();
    return stream_.push(samples.data(), samples.size(), [&](const StreamRow &row) {
        if (row.index == output_) scores.rows.insert(scores.rows.end(), row.data, row.data + row.width);
    });
}

Status Scorer::finish(Scores &scores) {
    return stream_.finish([&](const StreamRow &row) {
        if (row.index == output_) scores.rows.insert(scores.rows.end(), row.data, row.data + row.width);
    });
}

Status Scorer::reset() { return stream_.reset(); }

std::vector<ScoredEvent> Scorer::events(const Scores &scores, float threshold) const {
    runtime::DecisionSettings settings;
    settings.labels = static_cast<uint32_t>(thresholds_.size());
    settings.window = window_;
    settings.min_count = min_count_;
    settings.refractory = refractory_;
    settings.release = release_;
    runtime::Decision decision;
    runtime::Parts measure(nullptr);
    decision.build(settings, measure);
    std::vector<uint64_t> memory(measure.used() / sizeof(uint64_t) + 8);
    runtime::Parts parts(reinterpret_cast<uint8_t *>(memory.data()));
    decision.build(settings, parts);
    for (uint32_t i = 0; i < settings.labels; i++)
        decision.thresholds()[i] = thresholds_[i] > 1 || threshold <= 0 ? thresholds_[i] : threshold;
    std::vector<ScoredEvent> found;
    for (size_t row = 0; row < scores.count(); row++) {
        runtime::Detection detection{};
        if (decision.row(scores.rows.data() + row * scores.labels, &detection))
            found.push_back({detection.label, (row + 1) * ticks_num_ / ticks_den_ + delay_});
    }
    return found;
}

} // namespace longwave::cli
