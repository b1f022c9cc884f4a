// longwave vad: segments of speech in audio from a file, a pipe or a microphone.
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/audio/speech_detector.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/npy.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/json_lines.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/text/text_output.h"
#include <algorithm>
#include <cmath>
#include <csignal>
#include <unistd.h>

namespace longwave::cli {
namespace {

struct VadFlags {
    ModelFlags model;
    AudioFlags audio;
    SpeechFlags speech;
    std::string labels, probabilities; // files
    double chunk_ms = 0;
    bool realtime = false, events = false, scores = false, json = false, table = false;

    // A terminal has a reader who counts no braces.
    bool as_table() const { return table || (!json && !events && !scores && isatty(STDOUT_FILENO)); }
};

const char *kind_name(lw_speech_event_kind kind) {
    switch (kind) {
    case LW_SPEECH_BEGAN: return "began";
    case LW_SPEECH_DROPPED: return "dropped";
    case LW_SPEECH_START: return "start";
    case LW_SPEECH_END: return "segment";
    default: return "row";
    }
}

// One listening: what it prints and collects.
class VadSession {
public:
    VadSession(const VadFlags &flags, const Model &model, SpeechDetector &detector, JsonLines &lines)
        : flags_(flags), model_(model), detector_(detector), lines_(lines),
          rate_(model.audio()->sample_rate) {}

    // The input lost audio or stopped for a while.
    void interrupted(const std::string &text) {
        if (interruptions_.add()) print_text(stderr, "%s\n", text.c_str());
    }

    Status run(audio::Reader &reader) {
        if (!flags_.as_table()) print_ready();
        LW_TRY(listen(reader));
        LW_TRY(write_files());
        print_doubt();
        if (flags_.as_table()) return print_sum();
        print_stats();
        lines_.print({{"type", "eof"}, {"t", rounded(seconds(samples_))}});
        return lines_.status();
    }

private:
    Status listen(audio::Reader &reader) {
        std::vector<float> chunk(
            flags_.chunk_ms > 0 ? std::max<size_t>(1, static_cast<size_t>(flags_.chunk_ms * rate_ / 1000))
                                : 4096);
        const auto on_event = [this](const lw_speech_event &event) { return take(event); };
        const double start = now();
        while (!stopped && reading()) {
            LW_ASSIGN(const size_t n, reader.read(chunk.data(), chunk.size()));
            if (n == 0) break;
            samples_ += static_cast<int64_t>(n);
            if (flags_.realtime) wait_until(start + seconds(samples_));
            const double before = now();
            LW_TRY(detector_.push(chunk.data(), n, on_event));
            busy_ += now() - before;
        }
        if (samples_ == 0 && !stopped && reading())
            return Status::input(flags_.audio.name() + ": contains no samples");
        return detector_.finish(on_event);
    }

    bool reading() const { return flags_.as_table() ? table_.read() : lines_.read(); }
    double seconds(int64_t samples) const { return static_cast<double>(samples) / rate_; }

    Status take(const lw_speech_event &event) {
        if (event.kind == LW_SPEECH_ROW) return take_row(event);
        if (event.kind == LW_SPEECH_END) {
            segments_++;
            speech_ += event.end - event.start;
            labels_ += format("%.6f\t%.6f\tspeech\n", seconds(event.start), seconds(event.end));
            if (flags_.as_table()) print_row(event);
        }
        if (!flags_.as_table() && (event.kind == LW_SPEECH_END || flags_.events)) print_event(event);
        return {};
    }
    Status take_row(const lw_speech_event &row) {
        const double p = static_cast<double>(row.probability);
        if (!(p >= 0 && p <= 1))
            return Status::input(flags_.model.path +
                                 format(": gives %.6g at %.3f s; a probability of speech lies "
                                        "between 0 and 1",
                                        p, seconds(row.start)));
        highest_ = std::max(highest_, p);
        if (!flags_.probabilities.empty()) probabilities_.push_back(row.probability);
        if (flags_.scores)
            lines_.print({{"type", "row"}, {"t", rounded(seconds(row.end))}, {"probability", decimal(p)}});
        return {};
    }

    void print_ready() {
        lines_.print({{"type", "ready"},
                      {"model", model_.info.name},
                      {"block_ms", number(1000 * model_.info.stream_block / rate_)},
                      {"row_ms", number(1000 * detector_.hop() / rate_)},
                      {"delay_ms", number(1000 * model_.info.stream_delay / rate_)},
                      {"sample_rate", model_.audio()->sample_rate},
                      {"variant", model_.info.variant},
                      {"device", name_of(model_.device.get())},
                      {"settings", detector_.settings()}});
    }
    void print_event(const lw_speech_event &event) {
        nlohmann::ordered_json line = {{"type", kind_name(event.kind)},
                                       {"start", rounded(seconds(event.start))}};
        if (event.end >= 0) line["end"] = rounded(seconds(event.end));
        line["t"] = rounded(seconds(event.tick));
        line["start_sample"] = event.start;
        if (event.end >= 0) line["end_sample"] = event.end;
        lines_.print(line);
    }
    void print_stats() {
        const double t = seconds(samples_);
        const lw_stream_stats stats = detector_.stats();
        nlohmann::ordered_json line = {{"type", "stats"},
                                       {"t", rounded(t)},
                                       {"segments", segments_},
                                       {"speech", rounded(seconds(speech_))},
                                       {"highest", decimal(highest_)},
                                       {"real_time_factor", t > 0 ? busy_ / t : 0},
                                       {"non_finite", stats.non_finite},
                                       {"resets", stats.resets}};
        if (detector_.auto_gain()) line["gain_db"] = std::round(10 * detector_.gain_db()) / 10;
        if (!flags_.audio.microphone.empty()) line["interruptions"] = interruptions_.count();
        lines_.print(line);
    }
    // A model that never comes near speech may be fed with something else than it was trained for.
    void print_doubt() const {
        if (segments_ > 0 || samples_ < rate_ ||
            2 * highest_ >= detector_.settings()["threshold"].get<double>())
            return;
        print_text(
            stderr,
            "note: the highest probability of speech is %.4f; if someone speaks here, check the level, the "
            "rate of raw samples, and whether the model was imported with the context that it reads "
            "(docs/vad.md#samples-of-the-call-before)\n",
            highest_);
    }
    void print_row(const lw_speech_event &event) {
        if (segments_ == 1) table_.write("     start        end     length\n");
        table_.write(format("%10.3f %10.3f %10.3f s\n", seconds(event.start), seconds(event.end),
                            seconds(event.end - event.start)));
    }
    Status print_sum() {
        table_.write(format("%llu segment%s, %.3f s of speech in %.3f s\n",
                            static_cast<unsigned long long>(segments_), segments_ == 1 ? "" : "s",
                            seconds(speech_), seconds(samples_)));
        return table_.status();
    }
    Status write_files() const {
        if (!flags_.labels.empty())
            LW_TRY(write_output(flags_.labels,
                                {reinterpret_cast<const uint8_t *>(labels_.data()), labels_.size()}));
        if (!flags_.probabilities.empty())
            LW_TRY(write_npy(flags_.probabilities, {probabilities_.size()}, probabilities_));
        return {};
    }

    const VadFlags &flags_;
    const Model &model_;
    SpeechDetector &detector_;
    JsonLines &lines_;
    TextOutput table_;
    Interruptions interruptions_;
    const double rate_;
    double highest_ = 0; // probability of a row
    int64_t samples_ = 0, speech_ = 0;
    uint64_t segments_ = 0;
    double busy_ = 0; // seconds of computing
    std::string labels_;
    std::vector<float> probabilities_;
};

Status check_files(const VadFlags &flags) {
    std::vector<std::string> read = {flags.model.path};
    if (flags.audio.microphone.empty() && flags.audio.path != "-") read.push_back(flags.audio.path);
    if (!flags.labels.empty()) LW_TRY(check_output("--labels", flags.labels, read));
    if (!flags.labels.empty()) read.push_back(flags.labels);
    if (!flags.probabilities.empty()) LW_TRY(check_output("--probabilities", flags.probabilities, read));
    return {};
}

Status vad(const VadFlags &flags, JsonLines &lines) {
    LW_TRY(check_files(flags));
    LW_ASSIGN(const Model model, Model::open(flags.model));
    if (!model.audio())
        return Status::usage(flags.model.path +
                             ": the model has no audio input; if it should have one, import it again with "
                             "--input NAME=16000, or " +
                             right_command(model, flags.model.path, false));
    if (flags.speech.output.empty() && !gives_speech(model))
        return Status::usage(flags.model.path +
                             ": no output of the model gives one value for every so many samples, "
                             "the probability of speech; " +
                             right_command(model, flags.model.path, model.info.labels > 1));
    if (!flags.speech.output.empty() && model.stream_output(flags.speech.output) < 0) {
        std::string names;
        for (const lw_output_info &output : model.stream_outputs)
            names += (names.empty() ? "" : ", ") + std::string(output.name);
        return Status::usage("--probability " + flags.speech.output + ": unknown output; the model has " +
                             names);
    }
    LW_ASSIGN(SpeechDetector detector, SpeechDetector::create(model, flags.speech));
    VadSession session(flags, model, detector, lines);
    LW_ASSIGN(audio::Reader reader,
              open_audio(flags.audio, model.audio()->sample_rate,
                         [&session](const std::string &text) { session.interrupted(text); }));
    stop_on_signals();
    std::signal(SIGPIPE, SIG_IGN);
    return session.run(reader);
}

} // namespace

Command add_vad(CommandLine &program) {
    auto flags = std::make_shared<VadFlags>();
    CommandLine *app = program.add_subcommand(
        "vad",
        "Find speech in audio from a microphone, pipe or file: the start and the end of each segment.");
    flags->model.add(*app);
    flags->model.streams = true;
    add_device_flags(*app, flags->model);
    flags->audio.add(*app, true);
    flags->speech.add(*app);
    app->add_option("--labels", flags->labels,
                    "Write the segments to a file of labels for Audacity, at the end")
        ->file()
        ->value("FILE");
    app->add_option("--probabilities", flags->probabilities,
                    "Write the probability of each row to FILE.npy, at the end")
        ->file(".npy")
        ->value("FILE");
    app->add_option("--chunk-ms", flags->chunk_ms,
                    "Largest amount of audio per read, in milliseconds. The results do not depend on it")
        ->check(range(0.1, 60000.0))
        ->value("MS");
    app->add_flag("--realtime", flags->realtime,
                  "Read a file at its own speed, instead of as fast as possible");
    const Option *const events =
        app->add_flag("--events", flags->events,
                      "Also print when speech began, surely is a segment, or was too short for one (JSON)");
    const Option *const scores =
        app->add_flag("--scores", flags->scores, "Also print the probability of each row (JSON)");
    const Option *const json = app->add_flag(
        "--json", flags->json, "Print one JSON object per line. This is the default, except to a terminal");
    app->add_flag("--table", flags->table, "Print a table. This is the default to a terminal")
        ->excludes(events)
        ->excludes(scores)
        ->excludes(json);
    app->footer("Example:\n"
                "  longwave vad speech.lw recording.wav --labels recording.txt\n"
                "  longwave vad speech.lw --microphone default --events\n"
                "The `type` of a line is ready, segment, began, start, dropped, row, stats, error or eof. "
                "Where standard output and "
                "standard error are one terminal or file, the error is one line of text instead.\n"
                "start, end: seconds of audio. t: seconds of audio that were needed to know it. "
                "start_sample, end_sample: "
                "samples at the rate of the model.\n"
                "For the same probabilities the segments are those of Silero's get_speech_timestamps.");
    return {app, [flags] {
                JsonLines lines;
                Status status = vad(*flags, lines);
                // The reader of the pipe does not see stderr.
                if (!status && !flags->as_table() && !output_beside_errors())
                    lines.print({{"type", "error"}, {"message", status.message()}});
                return status;
            }};
}

} // namespace longwave::cli
