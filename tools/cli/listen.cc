// longwave listen: keywords from a microphone's pipe or a file, as JSON lines.
#include "formats/audio/audio.h"
#include "tools/cli/artifact_file.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/spotter.h"
#include "tools/cli/text.h"
#include <csignal>
#include <cstdio>
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

// One object, one line, at once: the reader of the pipe acts on it. False when nobody reads any more.
bool print(const nlohmann::ordered_json &line) { return std::printf("%s\n", line.dump().c_str()) > 0 && std::fflush(stdout) == 0; }

double rounded(double seconds) { return static_cast<double>(std::llround(seconds * 1000)) / 1000; }

struct Flags {
    std::string model, variant;
    AudioFlags audio;
    DecisionFlags decision;
    double chunk_ms = 0, stats_every = 0;
    bool realtime = false, probabilities = false;
};

Status listen(const Flags &flags) {
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model));
    LW_ASSIGN(const Model model, Model::open(flags.model, flags.variant));
    const lw_input_info *input = model.audio();
    if (!input) return Status::usage(flags.model + ": the model does not listen to audio");
    LW_ASSIGN(Stream stream, Stream::create(model));
    LW_ASSIGN(Decision decision, decision_of(file.view(), model, flags.decision));
    audio::Options options = flags.audio.options(input->sample_rate);
    options.stop = &stopped;
    LW_ASSIGN(audio::Reader reader, audio::Reader::open(flags.audio.path, options));
    stop_on_signals();
    std::signal(SIGPIPE, SIG_IGN);

    const double rate = input->sample_rate, delay = model.info.stream_delay;
    const lw_output_info &output = model.stream_outputs[decision.output];
    const double row_seconds = output.clock_num ? output.clock_den / rate / output.clock_num : model.info.stream_block / rate;
    const double block_ms = 1000 * model.info.stream_block / rate;
    bool read_by_someone = print({{"type", "ready"},
                                  {"model", model.info.name},
                                  {"block_ms", block_ms},
                                  {"delay_ms", 1000 * delay / rate},
                                  {"sample_rate", input->sample_rate},
                                  {"variant", model.info.variant},
                                  {"decision", to_json(decision)}});
    Spotter spotter(std::move(decision), row_seconds);
    uint64_t events = 0, samples = 0;
    const auto on_row = [&](const lw_output &row) {
        if (row.index != spotter.decision().output) return;
        const double t = (static_cast<double>(row.end) - delay) / rate;
        if (flags.probabilities) {
            nlohmann::ordered_json scores;
            for (uint32_t i = 0; i < row.width; i++) scores[spotter.decision().labels[i]] = row.data[i];
            read_by_someone &= print({{"type", "scores"}, {"t", rounded(t)}, {"scores", scores}});
        }
        const auto event = spotter.row(row.data, row.row, t);
        if (!event) return;
        events++;
        read_by_someone &= print({{"type", "keyword"},
                                  {"word", spotter.decision().labels[event->label]},
                                  {"score", rounded(event->score)},
                                  {"t", rounded(event->t)},
                                  {"t_start", rounded(event->t_start)},
                                  {"latency_ms", std::round(event->latency_ms)},
                                  {"frame", event->row}});
    };

    double busy = 0, next_stats = flags.stats_every;
    const double start = now();
    const auto print_stats = [&] {
        const double t = static_cast<double>(samples) / rate;
        read_by_someone &= print({{"type", "stats"},
                                  {"t", rounded(t)},
                                  {"events", events},
                                  {"real_time_factor", t > 0 ? busy / t : 0},
                                  {"non_finite", stream.stats().non_finite},
                                  {"rows_dropped", stream.stats().rows_dropped}});
    };
    std::vector<float> chunk(std::max<size_t>(1, flags.chunk_ms > 0 ? static_cast<size_t>(flags.chunk_ms * rate / 1000) : 4096));
    const auto work = [&]() -> Status {
        while (!stopped && read_by_someone) {
            LW_ASSIGN(const size_t n, reader.read(chunk.data(), chunk.size()));
            if (n == 0) break;
            if (flags.realtime) {
                const double due = start + static_cast<double>(samples + n) / rate;
                if (const double wait = due - now(); wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
            }
            const double before = now();
            LW_TRY(stream.push(chunk.data(), n, on_row));
            busy += now() - before;
            samples += n;
            if (flags.stats_every > 0 && static_cast<double>(samples) / rate >= next_stats) {
                print_stats();
                next_stats += flags.stats_every;
            }
        }
        return samples == 0 && !stopped ? Status::input(flags.audio.name() + ": holds no samples") : stream.finish(on_row);
    };
    const Status status = work();
    if (!status) {
        print({{"type", "error"}, {"message", status.message()}, {"t", rounded(static_cast<double>(samples) / rate)}});
        return status;
    }
    print_stats();
    print({{"type", "eof"}, {"t", rounded(static_cast<double>(samples) / rate)}});
    return {}; // a reader that has gone (head -1) is an end like any other
}

} // namespace

Command add_listen(CLI::App &program) {
    auto flags = std::make_shared<Flags>();
    CLI::App *app = program.add_subcommand("listen", "Keywords from a pipe or file, one JSON object a line: ready, keyword, stats, error, eof");
    app->add_option("model", flags->model, "Artifact (.lw)")->required();
    flags->audio.add(*app, true);
    add_decision_flags(*app, flags->decision);
    app->add_option("--chunk-ms", flags->chunk_ms, "Read at most this much audio at once (results do not depend on it)")->check(CLI::Range(0.1, 60000.0));
    app->add_option("--stats", flags->stats_every, "A stats line every so many seconds of audio (one is always written at the end)")
        ->check(CLI::NonNegativeNumber);
    app->add_flag("--realtime", flags->realtime, "Play a file at its own speed instead of as fast as possible");
    app->add_flag("--scores", flags->probabilities, "Also a line for every row of scores, to choose thresholds by");
    app->add_option("--variant", flags->variant, "Code variant to run (default: the best for this processor)");
    app->footer("Example: arecord -q -f S16_LE -r 16000 -t raw | longwave listen kws.lw\n"
                "t: seconds of audio at the decision; t_start: when the word's score began to rise; latency_ms: what smoothing and counting cost.");
    return {app, [flags] { return listen(*flags); }};
}

} // namespace longwave::cli
