#include "tools/cli/audio/speech_detector.h"
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/json_lines.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {
namespace {

constexpr double most_ms = 3.59e6; // below one hour

// In the library 0 is the default, and a negative time is none.
double time(double ms) { return ms == 0 ? -1 : ms; }

double negative_threshold(const SpeechFlags &flags) {
    return flags.negative_threshold > 0 ? flags.negative_threshold : std::max(flags.threshold - 0.15, 0.01);
}

} // namespace

void SpeechFlags::add(CommandLine &app) {
    app.add_option("--threshold", threshold, "Probability from which on a row is speech")
        ->check(range(0.001, 1.0))
        ->value("PROBABILITY")
        ->capture_default_str();
    app.add_option(
           "--negative-threshold", negative_threshold,
           "Probability below which a row is silence, at most the threshold (default: threshold - 0.15, at "
           "least 0.01)")
        ->check(range(0.0, 1.0))
        ->value("PROBABILITY");
    app.add_option("--min-speech-ms", min_speech_ms, "Segments that are not longer vanish")
        ->check(range(0.0, most_ms))
        ->value("MS")
        ->capture_default_str();
    app.add_option("--min-silence-ms", min_silence_ms, "A silence of this length ends a segment")
        ->check(range(0.0, most_ms))
        ->value("MS")
        ->capture_default_str();
    app.add_option("--pad-ms", pad_ms, "Time added before and after each segment")
        ->check(range(0.0, most_ms))
        ->value("MS")
        ->capture_default_str();
    app.add_option("--max-speech-s", max_speech_s,
                   "Longest segment in seconds. Longer ones are cut (default: no limit)")
        ->check(range(0.0, 1e8))
        ->value("SECONDS");
    app.add_option("--min-silence-at-max-ms", min_silence_at_max_ms,
                   "A segment that is too long is cut in its longest silence, if that is longer than this")
        ->check(range(0.0, most_ms))
        ->value("MS")
        ->capture_default_str();
    app.add_flag("--cut-at-last-silence", cut_at_last_silence, "Cut it in the last such silence instead");
    app.add_option(
           "--probability", output,
           "Output of the model that has the probability (default: the only one with one value for every so "
           "many samples)")
        ->value("OUTPUT");
    add_gain_flag(app, gain);
}

Expected<SpeechDetector> SpeechDetector::create(const Model &model, const SpeechFlags &flags) {
    if (flags.negative_threshold > flags.threshold)
        return Status::usage("--negative-threshold is above --threshold: no row could end speech");
    LW_ASSIGN(const GainSetting gain, read_gain(flags.gain));
    lw_speech_detector_options options = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    options.format = LW_F32;
    options.output = flags.output.empty() ? nullptr : flags.output.c_str();
    options.threshold = flags.threshold;
    options.negative_threshold = flags.negative_threshold;
    options.min_speech_ms = time(flags.min_speech_ms);
    options.min_silence_ms = time(flags.min_silence_ms);
    options.speech_pad_ms = time(flags.pad_ms);
    options.max_speech_s = flags.max_speech_s;
    options.min_silence_at_max_ms = time(flags.min_silence_at_max_ms);
    options.cut_at_last_silence = flags.cut_at_last_silence;
    options.rows = 1;
    options.gain_db = gain.db;
    options.auto_gain = gain.automatic;
    lw_speech_detector *detector = nullptr;
    const lw_status status = lw_speech_detector_create(model.handle.get(), &options, &detector);
    if (status == LW_INVALID_ARGUMENT && flags.max_speech_s > 0)
        return Status::usage("--max-speech-s " + number(flags.max_speech_s).dump() +
                             ": a segment must have room for two rows and the padding on both sides");
    LW_TRY(status_of(status, model.info.name));
    SpeechDetector result;
    result.handle_ = std::shared_ptr<lw_speech_detector>(
        detector, [keep = model.handle](lw_speech_detector *d) { lw_speech_detector_destroy(d); });
    result.auto_gain_ = gain.automatic;
    result.settings_ = {{"threshold", flags.threshold},
                        {"negative_threshold", decimal(negative_threshold(flags))},
                        {"min_speech_ms", number(flags.min_speech_ms)},
                        {"min_silence_ms", number(flags.min_silence_ms)},
                        {"pad_ms", number(flags.pad_ms)}};
    if (flags.max_speech_s > 0) {
        result.settings_["max_speech_s"] = number(flags.max_speech_s);
        result.settings_["min_silence_at_max_ms"] = number(flags.min_silence_at_max_ms);
        result.settings_["cut"] = flags.cut_at_last_silence ? "last silence" : "longest silence";
    }
    if (gain.automatic) result.settings_["gain_db"] = "auto";
    else if (gain.db != 0) result.settings_["gain_db"] = decimal(static_cast<double>(gain.db));
    return result;
}

Status SpeechDetector::pull(const OnEvent &event) {
    for (;;) {
        lw_speech_event next = LW_SPEECH_EVENT_INIT;
        const lw_status status = lw_speech_detector_pull(handle_.get(), &next);
        if (status == LW_AGAIN || status == LW_END) return {};
        LW_TRY(status_of(status, "speech detector"));
        LW_TRY(event(next));
    }
}

Status SpeechDetector::push(const float *samples, size_t n, const OnEvent &event) {
    while (n > 0) {
        size_t taken = 0;
        LW_TRY(status_of(lw_speech_detector_push(handle_.get(), samples, n, &taken), "push"));
        LW_TRY(pull(event));
        samples += taken;
        n -= taken;
    }
    return {};
}

Status SpeechDetector::finish(const OnEvent &event) {
    LW_TRY(status_of(lw_speech_detector_finish(handle_.get()), "finish"));
    return pull(event);
}

lw_stream_stats SpeechDetector::stats() const {
    lw_stream_stats stats = LW_STREAM_STATS_INIT;
    (void)lw_speech_detector_get_stats(handle_.get(), &stats);
    return stats;
}

double SpeechDetector::gain_db() const { return 20 * std::log10(lw_speech_detector_gain(handle_.get())); }

} // namespace longwave::cli
