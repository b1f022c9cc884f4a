#include "tools/cli/audio/audio_input.h"
#include "tools/cli/microphone/microphone.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include <cstdlib>
#include <thread>

namespace longwave::cli {

void AudioFlags::add(CommandLine &app, bool input) {
    offers_format = input;
    if (input) {
        const Option *const input_path =
            app.add_option("input,--input", path, "Audio file, or - for standard input")
                ->file()
                ->capture_default_str();
        const Option *const raw_format =
            app.add_option("--format", format,
                           "Audio format. `auto` recognises WAV, FLAC, Ogg and others by their first bytes. "
                           "Raw samples are "
                           "never guessed: say their format")
                ->check(one_of({"auto", "s16le", "s24le", "s24_32le", "s32le", "f32le", "mulaw", "alaw"}))
                ->value("FORMAT")
                ->capture_default_str();
        app.add_option("--rate", rate,
                       "Sample rate of raw samples or of the microphone in Hz (default: that of the model)")
            ->check(range(1000, 768000))
            ->value("HZ");
        app.add_option("--channels", channels,
                       "Number of interleaved channels of raw samples or of the microphone")
            ->check(range(1, 64))
            ->capture_default_str();
        app.add_option("--microphone", microphone,
                       "Record from this ALSA device instead of reading an input: `default`, or a name that "
                       "`longwave devices --microphones` lists")
            ->value("NAME")
            ->suggests({"default"})
            ->excludes(input_path)
            ->excludes(raw_format);
    }
    app.add_option("--channel", channel,
                   "Channel to use of a file with several. 1 is the first. Channels are never mixed")
        ->check(range(1, 64));
    app.add_flag("--resample", resample, "Convert other sample rates (default: reject them)");
}

audio::Options AudioFlags::options(uint32_t model_rate) const {
    audio::Options result;
    result.format = format == "s16le"      ? audio::Format::s16le
                    : format == "s24le"    ? audio::Format::s24le
                    : format == "s24_32le" ? audio::Format::s24_32le
                    : format == "s32le"    ? audio::Format::s32le
                    : format == "f32le"    ? audio::Format::f32le
                    : format == "mulaw"    ? audio::Format::mulaw
                    : format == "alaw"     ? audio::Format::alaw
                                           : audio::Format::detect;
    result.offers_format = offers_format;
    result.sample_rate = model_rate;
    result.raw_rate = rate;
    result.raw_channels = channels;
    result.channel = channel;
    result.resample = resample;
    result.warn = print_warning;
    return result;
}

void add_decision_flags(CommandLine &app, DecisionFlags &flags) {
    app.add_option("--threshold", flags.thresholds,
                   "Score thresholds: yes=0.6,no=0.7 per word, or 0.7 for all words (default: in the model)")
        ->delimiter(',')
        ->value("THRESHOLDS");
    app.add_option("--smoothing-ms", flags.smoothing_ms,
                   "Length of the moving average over the scores, in milliseconds (default: in the model)")
        ->check(range(0.0, 10000.0))
        ->value("MS");
    app.add_option(
           "--min-count", flags.min_count,
           "Number of consecutive rows in which a word must win and reach its threshold (default: in the "
           "model)")
        ->check(range(1, 1000));
    app.add_option(
           "--release", flags.release,
           "A word ends when its score falls below this share of its threshold (default: in the model)")
        ->check(range(0.01, 1.0))
        ->value("SHARE");
    app.add_option("--refractory-ms", flags.refractory_ms,
                   "Time after the end of a word without new events, in milliseconds (default: in the model)")
        ->check(range(0.0, 60000.0))
        ->value("MS");
}

void add_gain_flag(CommandLine &app, std::string &text) {
    app.add_option(
           "--gain", text,
           "Amplify the audio by so many decibels, -60 to 60. `auto` follows the level of the sounds slowly, "
           "between -12 and 30 dB (default: none)")
        ->suggests({"auto"})
        ->value("DB");
}

Expected<GainSetting> read_gain(const std::string &text) {
    if (text.empty()) return GainSetting{};
    if (text == "auto") return GainSetting{0, true};
    char *end = nullptr;
    const float db = std::strtof(text.c_str(), &end);
    if (*end || !(db >= -60 && db <= 60))
        return Status::usage("--gain " + text + ": expected decibels from -60 to 60, or `auto`");
    return GainSetting{db, false};
}

Expected<audio::Reader> open_audio(const AudioFlags &flags, uint32_t model_rate,
                                   std::function<void(const std::string &text)> notice,
                                   std::function<void(const std::string &text)> warn) {
    audio::Options options = flags.options(model_rate);
    options.stop = &stopped;
    if (warn) options.warn = std::move(warn);
    if (flags.microphone.empty()) return audio::Reader::open(flags.path, options);
    return open_microphone({flags.microphone, options, std::move(notice)});
}

bool Interruptions::add() {
    count_++;
    if (now() < next_) return false;
    next_ = now() + 1;
    return true;
}

void wait_until(double due) {
    const double wait = due - now();
    if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
}

} // namespace longwave::cli
