// longwave listen: keywords in audio from a pipe or a file, as JSON lines.
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/audio/score_panel.h"
#include "tools/cli/audio/spotter.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/json_lines.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/text/text_output.h"
#include "tools/cli/trace/trace.h"
#include <algorithm>
#include <csignal>
#include <cstdio>

namespace longwave::cli {
namespace {

struct ListenFlags {
    ModelFlags model;
    AudioFlags audio;
    DecisionFlags decision;
    double chunk_ms = 0, stats_every = 0;
    bool realtime = false, scores = false, debug = false;
    std::string trace;
};

std::vector<float> thresholds_of(const Model &model, const Spotter &spotter) {
    std::vector<float> list;
    for (uint32_t i = 0; i < model.labels.size(); i++)
        list.push_back(spotter.fires(i) ? spotter.threshold(i) : 2);
    return list;
}

// Text with control characters, for a terminal.
void write_controls(const std::string &text) {
    if (text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

// One listening: the lines it prints, and what they count.
class Session {
public:
    Session(const ListenFlags &flags, const Model &model, Spotter &spotter, JsonLines &lines, Trace *trace)
        : flags_(flags), model_(model), spotter_(spotter), lines_(lines), trace_(trace),
          panel_(model.labels, thresholds_of(model, spotter)), rate_(model.audio()->sample_rate) {}

    // The input lost audio or stopped for a while.
    void interrupted(const std::string &text) {
        if (!interruptions_.add()) return;
        write_controls(panel_.clear());
        print_text(stderr, "%s\n", text.c_str());
    }

    // The input ended early.
    void warned(const std::string &text) {
        write_controls(panel_.clear());
        print_warning(text);
    }

    Status run(audio::Reader &reader) {
        print_ready();
        LW_TRY(listen(reader));
        print_stats();
        lines_.print({{"type", "eof"}, {"t", rounded(seconds())}});
        return lines_.status();
    }

private:
    Status listen(audio::Reader &reader) {
        std::vector<float> chunk(chunk_size());
        double next_stats = flags_.stats_every;
        const auto on_event = [this](const lw_spotter_event &event) { print_keyword(event); };
        const double start = now();
        while (!stopped && lines_.read()) {
            LW_ASSIGN(const size_t n, reader.read(chunk.data(), chunk.size()));
            if (n == 0) break;
            if (flags_.realtime) wait_until(start + static_cast<double>(samples_ + n) / rate_);
            const uint64_t before = Trace::clock_ns();
            LW_TRY(spotter_.push(chunk.data(), n, on_event));
            const uint64_t after = Trace::clock_ns();
            busy_ += 1e-9 * static_cast<double>(after - before);
            samples_ += n;
            if (trace_) trace_->call("push", before, after, n);
            if (trace_) trace_->scores(model_.labels, spotter_.scores());
            if (flags_.debug) print_block(chunk, n, 1e-3 * static_cast<double>(after - before));
            if (flags_.scores) print_scores();
            if (flags_.stats_every > 0 && seconds() >= next_stats) {
                print_stats();
                next_stats += flags_.stats_every;
            }
        }
        if (samples_ == 0 && !stopped && lines_.read())
            return Status::input(flags_.audio.name() + ": contains no samples");
        return spotter_.finish(on_event);
    }

    size_t chunk_size() const {
        if (flags_.chunk_ms > 0)
            return std::max<size_t>(1, static_cast<size_t>(flags_.chunk_ms * rate_ / 1000));
        return flags_.scores || flags_.debug ? std::max<size_t>(1, model_.info.stream_block) : 4096;
    }
    double seconds() const { return static_cast<double>(samples_) / rate_; } // of audio

    void print_ready() {
        lines_.print({{"type", "ready"},
                      {"model", model_.info.name},
                      {"block_ms", number(1000 * model_.info.stream_block / rate_)},
                      {"delay_ms", number(1000 * model_.info.stream_delay / rate_)},
                      {"sample_rate", model_.audio()->sample_rate},
                      {"variant", model_.info.variant},
                      {"device", name_of(model_.device.get())},
                      {"decision", spotter_.settings()}});
    }
    void print_keyword(const lw_spotter_event &event) {
        events_++;
        write_controls(panel_.clear());
        if (trace_) trace_->keyword(event.word, event.score, spotter_.seconds(event.tick));
        lines_.print({{"type", "keyword"},
                      {"word", event.word},
                      {"score", rounded(event.score)},
                      {"t", rounded(spotter_.seconds(event.tick))},
                      {"t_start", rounded(spotter_.seconds(event.tick_start))},
                      {"latency_ms", number(spotter_.latency_ms())},
                      {"frame", event.row}});
    }
    void print_scores() {
        const std::vector<float> values = spotter_.scores();
        if (const size_t columns = terminal_columns()) {
            if (seconds() < next_drawing_) return;
            next_drawing_ = seconds() + 0.05; // a reader sees no more
            return write_controls(panel_.draw(values, seconds(), columns));
        }
        nlohmann::ordered_json scores = nlohmann::ordered_json::object();
        for (size_t i = 0; i < values.size(); i++) scores[model_.labels[i]] = values[i];
        lines_.print({{"type", "scores"}, {"t", rounded(seconds())}, {"scores", scores}});
    }
    // A line for each chunk, which is a block unless --chunk-ms says otherwise.
    void print_block(const std::vector<float> &chunk, size_t n, double us) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += double{chunk[i]} * chunk[i];
        const std::vector<float> values = spotter_.scores();
        const auto best =
            static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
        write_controls(panel_.clear());
        lines_.print({{"type", "block"},
                      {"t", rounded(seconds())},
                      {"level_db", std::round(100 * std::log10(sum / static_cast<double>(n) + 1e-12)) / 10},
                      {"best", values.empty() ? "" : model_.labels[best]},
                      {"score", values.empty() ? 0 : rounded(values[best])},
                      {"us", std::round(10 * us) / 10}});
    }
    void print_stats() {
        write_controls(panel_.clear());
        const double t = seconds();
        nlohmann::ordered_json line = {{"type", "stats"},
                                       {"t", rounded(t)},
                                       {"events", events_},
                                       {"real_time_factor", t > 0 ? busy_ / t : 0},
                                       {"non_finite", spotter_.stats().non_finite},
                                       {"rows_dropped", spotter_.stats().rows_dropped}};
        if (spotter_.auto_gain()) line["gain_db"] = std::round(10 * spotter_.gain_db()) / 10;
        if (!flags_.audio.microphone.empty()) line["interruptions"] = interruptions_.count();
        lines_.print(line);
    }

    const ListenFlags &flags_;
    const Model &model_;
    Spotter &spotter_;
    JsonLines &lines_;
    Trace *trace_; // null: none is asked for
    ScorePanel panel_;
    double next_drawing_ = 0;
    const double rate_;
    uint64_t events_ = 0, samples_ = 0;
    Interruptions interruptions_;
    double busy_ = 0; // seconds of computing
};

Status listen(const ListenFlags &flags, JsonLines &lines) {
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model.path));
    ModelFlags open = flags.model;
    std::shared_ptr<Trace> trace;
    if (!flags.trace.empty()) {
        LW_TRY(check_output("--trace", flags.trace, {flags.model.path, flags.audio.path}));
        LW_ASSIGN(trace, Trace::create(open));
    }
    LW_ASSIGN(const Model model, Model::open(open));
    const lw_input_info *input = model.audio();
    if (!input)
        return Status::usage(flags.model.path + ": the model has no audio input; " +
                             right_command(model, flags.model.path, false));
    if (!file.plan().decision())
        return Status::usage(flags.model.path +
                             ": the model decides on no keywords (\"decision\" in model.json); " +
                             right_command(model, flags.model.path, false));
    LW_ASSIGN(Spotter spotter, Spotter::create(file.view(), model, flags.decision));
    Session session(flags, model, spotter, lines, trace.get());
    LW_ASSIGN(audio::Reader reader, open_audio(
                                        flags.audio, input->sample_rate,
                                        [&session](const std::string &text) { session.interrupted(text); },
                                        [&session](const std::string &text) { session.warned(text); }));
    stop_on_signals();
    std::signal(SIGPIPE, SIG_IGN);
    LW_TRY(session.run(reader));
    return trace ? trace->write(flags.trace) : Status();
}

} // namespace

Command add_listen(CommandLine &program) {
    auto flags = std::make_shared<ListenFlags>();
    CommandLine *app = program.add_subcommand(
        "listen", "Report keywords in audio from a microphone, pipe or file, as one JSON object per line.");
    flags->model.add(*app);
    flags->model.streams = true;
    add_device_flags(*app, flags->model);
    flags->audio.add(*app, true);
    add_decision_flags(*app, flags->decision);
    add_gain_flag(*app, flags->decision.gain);
    app->add_option("--chunk-ms", flags->chunk_ms,
                    "Largest amount of audio per read, in milliseconds. The results do not depend on it")
        ->check(range(0.1, 60000.0))
        ->value("MS");
    app->add_option("--stats", flags->stats_every,
                    "Print a stats line every SECONDS of audio. The last stats line always comes at the end")
        ->check(range(0.0, 1e9))
        ->value("SECONDS");
    app->add_flag("--realtime", flags->realtime,
                  "Read a file at its own speed, instead of as fast as possible");
    app->add_flag(
        "--scores", flags->scores,
        "Also print the smoothed scores after every block, to choose thresholds. A terminal shows them as "
        "bars, with a mark at each threshold");
    app->add_flag(
        "--debug", flags->debug,
        "Print a line for every block: level of the audio, best word, its score, and the time of the block");
    add_trace_flag(*app, flags->trace);
    app->footer(
        "Prints events. For audio out see `longwave denoise`.\n"
        "Example:\n"
        "  longwave listen kws.lw --microphone default\n"
        "  arecord -q -f S16_LE -r 16000 -t raw | longwave listen kws.lw --format s16le\n"
        "The `type` of a line is ready, keyword, scores, block, stats, error or eof. Where standard output "
        "and "
        "standard error are one terminal or file, the error is one line of text instead.\n"
        "t: seconds of audio at the decision. t_start: where the score of the word began to rise.\n"
        "latency_ms: time from the word to its event. This is the sum of the model's delay, one block, "
        "half the smoothing window and the counted rows.");
    return {app, [flags] {
                JsonLines lines;
                Status status = listen(*flags, lines);
                // The reader of the pipe does not see stderr.
                if (!status && !output_beside_errors())
                    lines.print({{"type", "error"}, {"message", status.message()}});
                return status;
            }};
}

} // namespace longwave::cli
