// longwave listen: keywords from a microphone's pipe or a file, as JSON lines.
#include "formats/audio/audio.h"
#include "tools/cli/artifact_file.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/spotter.h"
#include "tools/cli/text.h"
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

namespace longwave::cli {
namespace {

std::atomic<bool> stopped{false};

// Control-C ends the input, not the program: the last lines (stats, eof) are still written.
void stop_on_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { stopped = true; };
    action.sa_flags = 0; // a blocked read returns
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

// One object, one line, at once: the reader of the pipe acts on it.
class Lines {
public:
    void print(const nlohmann::ordered_json &line) {
        if (error_ != 0) return;
        if (std::printf("%s\n", line.dump().c_str()) < 0 || std::fflush(stdout) != 0) error_ = errno ? errno : EIO;
    }
    bool read() const { return error_ == 0; } // does anybody still read them?
    // A reader that has gone (head -1) is an end like any other; a full disk is not.
    Status status() const {
        std::clearerr(stdout);
        return error_ == 0 || error_ == EPIPE ? Status() : Status::device(std::string("standard output cannot be written: ") + std::strerror(error_));
    }

private:
    int error_ = 0;
};

// Whole numbers without a point, as people write them.
nlohmann::ordered_json number(double value) {
    return value == std::floor(value) && std::fabs(value) < 1e9 ? nlohmann::ordered_json(static_cast<int64_t>(value)) : nlohmann::ordered_json(value);
}

double rounded(double seconds) { return static_cast<double>(std::llround(seconds * 1000)) / 1000; }

struct Flags {
    ModelFlags model;
    AudioFlags audio;
    DecisionFlags decision;
    double chunk_ms = 0, stats_every = 0;
    bool realtime = false, scores = false;
};

Status listen(const Flags &flags, Lines &lines) {
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model.path));
    LW_ASSIGN(const Model model, Model::open(flags.model));
    const lw_input_info *input = model.audio();
    if (!input) return Status::usage(flags.model.path + ": the model does not listen to audio");
    LW_ASSIGN(Spotter spotter, Spotter::create(file.view(), model, flags.decision));
    audio::Options options = flags.audio.options(input->sample_rate);
    options.stop = &stopped;
    LW_ASSIGN(audio::Reader reader, audio::Reader::open(flags.audio.path, options));
    stop_on_signals();
    std::signal(SIGPIPE, SIG_IGN);

    const double rate = input->sample_rate;
    lines.print({{"type", "ready"},
                 {"model", model.info.name},
                 {"block_ms", number(1000 * model.info.stream_block / rate)},
                 {"delay_ms", number(1000 * model.info.stream_delay / rate)},
                 {"sample_rate", input->sample_rate},
                 {"variant", model.info.variant},
                 {"decision", spotter.settings()}});
    uint64_t events = 0, samples = 0;
    const auto on_event = [&](const lw_event &event) {
        events++;
        lines.print({{"type", "keyword"},
                     {"word", event.word},
                     {"score", rounded(event.score)},
                     {"t", rounded(spotter.seconds(event.tick))},
                     {"t_start", rounded(spotter.seconds(event.tick_start))},
                     {"latency_ms", number(spotter.latency_ms())},
                     {"frame", event.row}});
    };
    const auto print_scores = [&] {
        const std::vector<float> values = spotter.scores();
        nlohmann::ordered_json scores;
        for (size_t i = 0; i < values.size(); i++) scores[model.labels[i]] = values[i];
        lines.print({{"type", "scores"}, {"t", rounded(static_cast<double>(samples) / rate)}, {"scores", scores}});
    };

    double busy = 0, next_stats = flags.stats_every;
    const double start = now();
    const auto print_stats = [&] {
        const double t = static_cast<double>(samples) / rate;
        lines.print({{"type", "stats"},
                     {"t", rounded(t)},
                     {"events", events},
                     {"real_time_factor", t > 0 ? busy / t : 0},
                     {"non_finite", spotter.stats().non_finite},
                     {"rows_dropped", spotter.stats().rows_dropped}});
    };
    const size_t chunk_size = flags.chunk_ms > 0 ? static_cast<size_t>(flags.chunk_ms * rate / 1000) : flags.scores ? model.info.stream_block : 4096;
    std::vector<float> chunk(std::max<size_t>(1, chunk_size));
    const auto work = [&]() -> Status {
        while (!stopped && lines.read()) {
            LW_ASSIGN(const size_t n, reader.read(chunk.data(), chunk.size()));
            if (n == 0) break;
            if (flags.realtime) {
                const double due = start + static_cast<double>(samples + n) / rate;
                if (const double wait = due - now(); wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
            }
            const double before = now();
            LW_TRY(spotter.push(chunk.data(), n, on_event));
            busy += now() - before;
            samples += n;
            if (flags.scores) print_scores();
            if (flags.stats_every > 0 && static_cast<double>(samples) / rate >= next_stats) {
                print_stats();
                next_stats += flags.stats_every;
            }
        }
        return samples == 0 && !stopped && lines.read() ? Status::input(flags.audio.name() + ": holds no samples") : spotter.finish(on_event);
    };
    LW_TRY(work());
    print_stats();
    lines.print({{"type", "eof"}, {"t", rounded(static_cast<double>(samples) / rate)}});
    return lines.status();
}

} // namespace

Command add_listen(CommandLine &program) {
    auto flags = std::make_shared<Flags>();
    CommandLine *app = program.add_subcommand("listen", "Keywords from a pipe or file, one JSON object a line: ready, keyword, stats, error, eof");
    flags->model.add(*app);
    flags->audio.add(*app, true);
    add_decision_flags(*app, flags->decision);
    app->add_option("--chunk-ms", flags->chunk_ms, "Read at most this much audio at once (results do not depend on it)")
        ->check(range(0.1, 60000.0));
    app->add_option("--stats", flags->stats_every, "A stats line every so many seconds of audio (one is always written at the end)")
        ->check(not_negative());
    app->add_flag("--realtime", flags->realtime, "Play a file at its own speed instead of as fast as possible");
    app->add_flag("--scores", flags->scores, "Also the averaged scores after every block, to choose thresholds by");
    app->footer(
        "Example: arecord -q -f S16_LE -r 16000 -t raw | longwave listen kws.lw\n"
        "t: seconds of audio at the decision; t_start: where the word's score began to rise; latency_ms: how far a decision lies behind the sound\n"
        "(the model's delay, one block, half the averaging window and the rows that are counted).");
    return {app, [flags] {
                Lines lines;
                const Status status = listen(*flags, lines);
                if (!status) lines.print({{"type", "error"}, {"message", status.message()}}); // the reader of the pipe does not see stderr
                return status;
            }};
}

} // namespace longwave::cli
