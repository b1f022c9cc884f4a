#include "tools/cli/support/flags.h"

namespace longwave::cli {

void AudioFlags::add(CommandLine &app, bool input) {
    if (input) {
        app.add_option("input,--input", path, "File, or - for the standard input")->capture_default_str();
        app.add_option("--format", format,
                       "auto: WAV, FLAC, Ogg, or raw s16le on a pipe; s16le and f32le: raw samples")
            ->check(one_of({"auto", "s16le", "f32le"}))
            ->capture_default_str();
        app.add_option("--rate", rate, "Sample rate of raw samples (default: the model's)")
            ->check(range(1000, 768000));
        app.add_option("--channels", channels, "Interleaved channels of raw samples")
            ->check(range(1, 64))
            ->capture_default_str();
    }
    app.add_option("--channel", channel,
                   "Channel of a file with several; 1 is the first. Channels are never mixed")
        ->check(range(1, 64));
    app.add_flag("--resample", resample, "Convert other sample rates (without it they are refused)");
}

audio::Options AudioFlags::options(uint32_t model_rate) const {
    audio::Options result;
    result.format = format == "s16le"   ? audio::Format::s16le
                    : format == "f32le" ? audio::Format::f32le
                                        : audio::Format::detect;
    result.sample_rate = model_rate;
    result.raw_rate = rate;
    result.raw_channels = channels;
    result.channel = channel;
    result.resample = resample;
    return result;
}

void add_decision_flags(CommandLine &app, DecisionFlags &flags) {
    app.add_option("--threshold", flags.thresholds,
                   "yes=0.6,no=0.7 for single words, 0.7 for all (default: the artifact's)")
        ->delimiter(',');
    app.add_option("--smoothing-ms", flags.smoothing_ms, "Length of the moving average of the scores")
        ->check(range(0.0, 10000.0));
    app.add_option("--min-count", flags.min_count, "Rows in a row a word must be on top and at its threshold")
        ->check(range(1, 1000));
    app.add_option("--release", flags.release,
                   "A word is over when its score is below this share of its threshold")
        ->check(range(0.01, 1.0));
    app.add_option("--refractory-ms", flags.refractory_ms, "Silence after the end of a word")
        ->check(range(0.0, 60000.0));
}

} // namespace longwave::cli
