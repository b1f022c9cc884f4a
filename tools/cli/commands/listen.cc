// longwave listen: keywords in audio from a pipe or a file, as JSON lines.
#include "formats/audio/audio.h"
#include "tools/cli/audio/audio_flags.h"
#include "tools/cli/audio/spotter.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include "tools/cli/text/text_output.h"
#include <cmath>
#include <csignal>
#include <thread>

namespace longwave::cli {
namespace {

// Writes one object per line at once, because another program reads the pipe.
class Lines {
public:
    void print(const nlohmann::ordered_json &line) { out_.write(json_line(line) + "\n"); }
    bool read() const { return out_.read(); }
    Status status() const { return out_.status(); }

private:
    TextOutput out_;
};

// Whole numbers are printed without a decimal point.
nlohmann::ordered_json number(double value) {
    return value == std::floor(value) && std::fabs(value) < 1e9
               ? nlohmann::ordered_json(static_cast<int64_t>(value))
               : nlohmann::ordered_json(value);
}

double rounded(double seconds) { return static_cast<double>(std::llround(seconds * 1000)) / 1000; }

struct ListenFlags {
    ModelFlags model;
    AudioFlags audio;
    DecisionFlags decision;
    double chunk_ms = 0, stats_every = 0;
    bool realtime = false, scores = false;
};

// One listening: the lines it prints, and what they count.
class Session {
public:
    Session(const ListenFlags &flags, const Model &model, Spotter &spotter, Lines &lines)
        : flags_(flags), model_(model), spotter_(spotter), lines_(lines), rate_(model.audio()->sample_rate) {}

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
        const auto on_event = [this](const lw_event &event) { print_keyword(event); };
        const double start = now();
        while (!stopped && lines_.read()) {
            LW_ASSIGN(const size_t n, reader.read(chunk.data(), chunk.size()));
            if (n == 0) break;
            if (flags_.realtime) wait_until(start + static_cast<double>(samples_ + n) / rate_);
            const double before = now();
            LW_TRY(spotter_.push(chunk.data(), n, on_event));
            busy_ += now() - before;
            samples_ += n;
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
        return flags_.scores ? std::max<size_t>(1, model_.info.stream_block) : 4096;
    }
    static void wait_until(double due) {
        const double wait = due - now();
        if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
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
    void print_keyword(const lw_event &event) {
        events_++;
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
        nlohmann::ordered_json scores = nlohmann::ordered_json::object();
        for (size_t i = 0; i < values.size(); i++) scores[model_.labels[i]] = values[i];
        lines_.print({{"type", "scores"}, {"t", rounded(seconds())}, {"scores", scores}});
    }
    void print_stats() {
        const double t = seconds();
        lines_.print({{"type", "stats"},
                      {"t", rounded(t)},
                      {"events", events_},
                      {"real_time_factor", t > 0 ? busy_ / t : 0},
                      {"non_finite", spotter_.stats().non_finite},
                      {"rows_dropped", spotter_.stats().rows_dropped}});
    }

    const ListenFlags &flags_;
    const Model &model_;
    Spotter &spotter_;
    Lines &lines_;
    const double rate_;
    uint64_t events_ = 0, samples_ = 0;
    double busy_ = 0; // seconds of computing
};

Status listen(const ListenFlags &flags, Lines &lines) {
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model.path));
    LW_ASSIGN(const Model model, Model::open(flags.model));
    const lw_input_info *input = model.audio();
    if (!input)
        return Status::usage(flags.model.path +
                             ": the model has no audio input; use `longwave generate` for a language model");
    LW_ASSIGN(Spotter spotter, Spotter::create(file.view(), model, flags.decision));
    audio::Options options = flags.audio.options(input->sample_rate);
    options.stop = &stopped;
    LW_ASSIGN(audio::Reader reader, audio::Reader::open(flags.audio.path, options));
    stop_on_signals();
    std::signal(SIGPIPE, SIG_IGN);
    return Session(flags, model, spotter, lines).run(reader);
}

} // namespace

Command add_listen(CommandLine &program) {
    auto flags = std::make_shared<ListenFlags>();
    CommandLine *app = program.add_subcommand(
        "listen", "Report keywords in audio from a pipe or file, as one JSON object per line.");
    flags->model.add(*app);
    flags->model.streams = true;
    add_device_flags(*app, flags->model);
    flags->audio.add(*app, true);
    add_decision_flags(*app, flags->decision);
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
    app->add_flag("--scores", flags->scores,
                  "Also print the smoothed scores after every block, to choose thresholds");
    app->footer(
        "Example:\n"
        "  arecord -q -f S16_LE -r 16000 -t raw | longwave listen kws.lw\n"
        "The `type` of a line is ready, keyword, scores, stats, error or eof.\n"
        "t: seconds of audio at the decision. t_start: where the score of the word began to rise.\n"
        "latency_ms: time from the sound to the decision. This is the sum of the model's delay, one block, "
        "half the smoothing window and the counted rows.");
    return {app, [flags] {
                Lines lines;
                Status status = listen(*flags, lines);
                // The reader of the pipe does not see stderr.
                if (!status) lines.print({{"type", "error"}, {"message", status.message()}});
                return status;
            }};
}

} // namespace longwave::cli
