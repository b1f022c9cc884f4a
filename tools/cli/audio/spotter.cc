#include "tools/cli/audio/spotter.h"
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/json_lines.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {
namespace {

// The flags in the form of the library. There, zero means the setting of the model, and a negative
// time means none.
struct Options {
    std::vector<std::string> names;
    std::vector<lw_word_threshold> words;
    lw_spotter_options options = {};
};

Status add_threshold(const Model &model, const std::string &text, Options &out) {
    const size_t equals = text.find('=');
    const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
    char *end = nullptr;
    const float value = std::strtof(number.c_str(), &end);
    if (number.empty() || *end || !(value > 0 && value <= 1))
        return Status::usage("--threshold " + text + ": expected a threshold above 0 and at most 1");
    if (equals == std::string::npos) {
        out.options.threshold = value;
        return {};
    }
    const std::string word = text.substr(0, equals);
    if (std::find(model.labels.begin(), model.labels.end(), word) == model.labels.end()) {
        std::string names;
        for (const auto &name : model.labels) names += (names.empty() ? "" : ", ") + name;
        return Status::usage("--threshold " + text + ": unknown word; the model has " + names);
    }
    out.names.push_back(word);
    out.words.push_back({nullptr, value});
    return {};
}

Status read_flags(const Model &model, const DecisionFlags &flags, Options &out) {
    const auto time = [](const std::optional<float> &ms) { return !ms ? 0.0f : *ms > 0 ? *ms : -1.0f; };
    out.options.struct_size = sizeof out.options;
    out.options.format = LW_F32;
    out.options.smoothing_ms = time(flags.smoothing_ms);
    out.options.refractory_ms = time(flags.refractory_ms);
    out.options.release = flags.release.value_or(0);
    out.options.min_count = flags.min_count.value_or(0);
    LW_ASSIGN(const GainSetting gain, read_gain(flags.gain));
    out.options.gain_db = gain.db;
    out.options.auto_gain = gain.automatic;
    for (const auto &text : flags.thresholds) LW_TRY(add_threshold(model, text, out));
    for (size_t i = 0; i < out.words.size(); i++) out.words[i].word = out.names[i].c_str();
    out.options.words = out.words.data();
    out.options.n_words = out.words.size();
    return {};
}

} // namespace

Expected<Spotter> Spotter::create(const artifact::View &artifact, const Model &model,
                                  const DecisionFlags &flags) {
    const fb::Decision *stored = artifact.plan().decision();
    if (!stored || !stored->output() || !model.audio())
        return Status::usage(std::string(model.info.name) +
                             ": the model has no keyword decisions; they need \"decision\" in model.json, an "
                             "audio input and a stream");
    Options options;
    LW_TRY(read_flags(model, flags, options));
    lw_spotter *spotter = nullptr;
    LW_TRY(status_of(lw_spotter_create(model.handle.get(), &options.options, &spotter), model.info.name));
    Spotter result;
    result.handle_ =
        std::shared_ptr<lw_spotter>(spotter, [keep = model.handle](lw_spotter *s) { lw_spotter_destroy(s); });
    result.rate_ = model.audio()->sample_rate;

    const float smoothing = flags.smoothing_ms.value_or(stored->smoothing_ms());
    const uint32_t count = flags.min_count.value_or(stored->min_count());
    nlohmann::ordered_json thresholds = nlohmann::ordered_json::object();
    for (uint32_t i = 0; i < model.labels.size(); i++)
        if (result.fires(i)) thresholds[model.labels[i]] = decimal(lw_spotter_threshold(spotter, i));
    result.settings_ = {{"thresholds", thresholds},
                        {"smoothing_ms", smoothing},
                        {"min_count", count},
                        {"release", decimal(flags.release.value_or(stored->release()))},
                        {"refractory_ms", flags.refractory_ms.value_or(stored->refractory_ms())}};
    if (options.options.auto_gain) result.settings_["gain_db"] = "auto";
    else if (options.options.gain_db != 0) result.settings_["gain_db"] = decimal(options.options.gain_db);
    result.auto_gain_ = options.options.auto_gain != 0;
    const int output = model.stream_output(stored->output()->str());
    const lw_output_info row =
        output >= 0 ? model.stream_outputs[static_cast<size_t>(output)] : lw_output_info{};
    const double row_ms = row.clock_num ? 1000 / result.rate_ * row.clock_den / row.clock_num : 0;
    result.latency_ms_ = 1000 * (model.info.stream_delay + model.info.stream_block) / result.rate_ +
                         smoothing / 2 + row_ms * (std::max(1u, count) - 1);
    return result;
}

Status Spotter::pull(const OnEvent &event) {
    for (;;) {
        lw_spotter_event next = {};
        next.struct_size = sizeof next;
        const lw_status status = lw_spotter_pull(handle_.get(), &next);
        if (status == LW_AGAIN || status == LW_END) return {};
        LW_TRY(status_of(status, "spotter"));
        event(next);
    }
}

Status Spotter::push(const float *samples, size_t n, const OnEvent &event) {
    while (n > 0) {
        size_t taken = 0;
        LW_TRY(status_of(lw_spotter_push(handle_.get(), samples, n, &taken), "push"));
        LW_TRY(pull(event));
        samples += taken;
        n -= taken;
    }
    return {};
}

Status Spotter::finish(const OnEvent &event) {
    LW_TRY(status_of(lw_spotter_finish(handle_.get()), "finish"));
    return pull(event);
}

Status Spotter::reset() { return status_of(lw_spotter_reset(handle_.get()), "reset"); }

lw_stream_stats Spotter::stats() const {
    lw_stream_stats stats = {};
    stats.struct_size = sizeof stats;
    (void)lw_spotter_get_stats(handle_.get(), &stats);
    return stats;
}

double Spotter::gain_db() const { return 20 * std::log10(lw_spotter_gain(handle_.get())); }

std::vector<float> Spotter::scores() const {
    const float *scores = nullptr;
    uint32_t n = 0;
    if (lw_spotter_scores(handle_.get(), &scores, &n) != LW_OK) return {};
    return {scores, scores + n};
}

} // namespace longwave::cli
