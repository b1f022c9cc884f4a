// longwave bench: time and memory of a model on this machine, printed with the machine and the
// settings.
#include "tools/cli/audio/samples.h"
#include "tools/cli/commands/bench_measurements.h"
#include "tools/cli/commands/bench_program.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/placement.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/bench_page.h"
#include "tools/kernels/machine.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

void print_stream(const ordered_json &s) {
    print_text(stdout, "stream    block of %u ticks: median %.1f µs, p99 %.1f µs, worst %.1f µs",
               s["block"].get<unsigned>(), s["block_us"]["median"].get<double>(),
               s["block_us"]["p99"].get<double>(), s["block_us"]["worst"].get<double>());
    if (s.contains("real_time_factor"))
        print_text(stdout, " · real-time factor %.5f", s["real_time_factor"].get<double>());
    print_text(stdout, "\n");
}

// What was measured, for people. `json`: what --json prints.
void print_bench(const ordered_json &json) {
    const auto &m = json["machine"];
    print_text(stdout, "machine   %s, %u CPUs, %s, load %.2f\n", m["cpu"].get<std::string>().c_str(),
               m["processors"].get<unsigned>(), m["system"].get<std::string>().c_str(),
               m["load"].get<double>());
    print_text(stdout, "settings  longwave %s, on %s, code %s, one thread, %u repeats\n",
               json["version"].get<std::string>().c_str(), json["device"].get<std::string>().c_str(),
               json["variant"].get<std::string>().c_str(), json["repeats"].get<unsigned>());
    print_text(stdout, "model     %s: %s\n", json["model"].get<std::string>().c_str(),
               bytes_text(json["artifact_bytes"]).c_str());
    if (json.contains("stream")) {
        print_text(stdout, "open      to the first output: cold %.2f ms, median %.2f ms\n",
                   json["open_to_first_output"]["cold_ms"].get<double>(),
                   json["open_to_first_output"]["median_ms"].get<double>());
        for (const auto &s : json["streams"]) print_stream(s);
        const auto &s = json["stream"];
        print_text(stdout, "memory    state %s, all of a stream %s\n", bytes_text(s["state_bytes"]).c_str(),
                   bytes_text(s["memory_bytes"]).c_str());
    }
    if (json.contains("streams_at_once"))
        for (const auto &n : json["streams_at_once"]) print_streams(n);
    if (json.contains("text")) print_text(json["text"]);
    if (json.contains("run")) {
        print_text(stdout, "offline   %u ticks: median %.3f ms, worst %.3f ms · memory %s\n",
                   json["run"]["ticks"].get<unsigned>(), json["run"]["median_ms"].get<double>(),
                   json["run"]["worst_ms"].get<double>(), bytes_text(json["run"]["memory_bytes"]).c_str());
        if (json["run"].contains("threads"))
            print_text(stdout, "          with %u threads: median %.3f ms, speed-up %.2f\n",
                       json["run"]["threads"].get<unsigned>(), json["run"]["threads_median_ms"].get<double>(),
                       json["run"]["threads_speed_up"].get<double>());
    }
}

struct BenchFlags {
    ModelFlags model;
    std::optional<float> given_seconds;
    std::optional<uint32_t> ticks; // to stream, instead
    unsigned repeats = 20, threads = 1;
    std::vector<uint32_t> streams; // at once
    std::string html;
    bool json = false, planner = false, layers = false;
    double seconds() const { return given_seconds.value_or(10); }
};

ordered_json machine() {
    utsname name = {};
    uname(&name);
    double load[1] = {0};
    if (getloadavg(load, 1) < 1) load[0] = 0;
    return {{"cpu", kernels::cpu_name()},
            {"processors", std::thread::hardware_concurrency()},
            {"system", std::string(name.sysname) + " " + name.release},
            {"load", load[0]}};
}

double quantile(std::vector<double> sorted, double q) {
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty()
               ? 0
               : sorted[static_cast<size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

// [share, microseconds]: what so many of the times do not exceed.
ordered_json quantiles(const std::vector<double> &seconds) {
    ordered_json list = ordered_json::array();
    for (const double share : {0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0})
        list.push_back({share, 1e6 * quantile(seconds, share)});
    return list;
}

const uint8_t *tick_of(const Model &model, const Sequence &in, size_t at) {
    return static_cast<const uint8_t *>(in.data(0)) +
           at * 4 * (model.inputs[0].kind == LW_INPUT_TOKENS ? 1 : model.inputs[0].width);
}

// So that the first opening reads from the disk.
void drop_from_page_cache(const std::string &path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    fsync(file); // pages that are not yet written cannot be dropped
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

double cpu_seconds() {
    timespec time = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Seconds of each run: elapsed time, and CPU time, which depends less on other programs.
struct Times {
    std::vector<double> clock, cpu;
};

// Times of offline runs. An additional first run warms the caches.
Expected<Times> times_of_runs(const Model &model, const Sequence &in, unsigned repeats, uint32_t threads) {
    LW_ASSIGN(Runner runner, Runner::create(model, threads));
    Times times;
    for (unsigned i = 0; i < repeats + 1; i++) {
        const double start = now(), cpu = cpu_seconds();
        LW_ASSIGN(const auto rows, runner.run(in));
        if (i == 0) continue;
        times.clock.push_back(now() - start);
        times.cpu.push_back(cpu_seconds() - cpu);
    }
    return times;
}

// From the path to the first output: open, verify, prepare tables, create a stream, push until a
// row comes.
Expected<double> open_to_first_output(const BenchFlags &flags, const Sequence &in) {
    const double start = now();
    LW_ASSIGN(const Model model, Model::open(flags.model));
    LW_ASSIGN(Stream stream, Stream::create(model));
    bool heard = false;
    const size_t block = std::max<uint32_t>(1, model.info.stream_block);
    for (size_t at = 0; !heard && at + block <= in.rows; at += block)
        LW_TRY(stream.push(tick_of(model, in, at), block, [&](const StreamRow &) { heard = true; }));
    return now() - start;
}

size_t ticks_of(const BenchFlags &flags, const Model &model, size_t block) {
    if (flags.ticks) return (*flags.ticks + block - 1) / block * block;
    const double rate = model.inputs[0].sample_rate;
    return std::max<size_t>(block * 64, rate > 0 ? static_cast<size_t>(flags.seconds() * rate) : 20000) /
           block * block;
}

Status bench_opening(const BenchFlags &flags, const Model &model, ordered_json &json) {
    const Sequence in =
        made_up(model, ticks_of(flags, model, std::max<uint32_t>(1, model.info.stream_block)), 3);
    std::vector<double> opens;
    drop_from_page_cache(flags.model.path);
    for (unsigned i = 0; i < flags.repeats; i++) {
        LW_ASSIGN(const double seconds, open_to_first_output(flags, in));
        opens.push_back(seconds);
    }
    json["open_to_first_output"] = {{"cold_ms", 1e3 * opens[0]}, {"median_ms", 1e3 * quantile(opens, 0.5)}};
    return {};
}

// One stream entry, its index in the artifact.
Expected<ordered_json> bench_stream(const BenchFlags &flags, const Model &model, uint32_t entry) {
    const size_t block = model.entry(entry).block, ticks = ticks_of(flags, model, block);
    const double rate = model.inputs[0].sample_rate;
    const Sequence in = made_up(model, ticks, 3);
    LW_ASSIGN(Stream stream, Stream::create(model, LW_F32, entry));
    const auto nothing = [](const StreamRow &) {};
    // Warms the caches. For slow models, not longer than the measurement.
    for (size_t at = 0; at < std::min<size_t>(ticks, 100 * block); at += block)
        LW_TRY(stream.push(tick_of(model, in, at), block, nothing));
    std::vector<double> blocks;
    double total = 0;
    rusage before = {}, after = {};
    getrusage(RUSAGE_SELF, &before);
    for (size_t at = 0; at < ticks; at += block) {
        const double start = now();
        LW_TRY(stream.push(tick_of(model, in, at), block, nothing));
        blocks.push_back(now() - start);
        total += blocks.back();
    }
    getrusage(RUSAGE_SELF, &after);
    ordered_json json = {
        {"block", block},
        {"blocks", blocks.size()},
        {"block_us",
         {{"median", 1e6 * quantile(blocks, 0.5)},
          {"p99", 1e6 * quantile(blocks, 0.99)},
          {"worst", 1e6 * quantile(blocks, 1)},
          {"quantiles", quantiles(blocks)}}},
        {"ns_per_tick", 1e9 * total / static_cast<double>(ticks)},
        {"page_faults", after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt},
        {"state_bytes", model.info.stream_state_bytes},
        {"memory_bytes", model.info.stream_memory_bytes}};
    if (rate > 0) json["real_time_factor"] = total / (static_cast<double>(ticks) / rate);
    return json;
}

Status bench_run(const BenchFlags &flags, const Model &model, ordered_json &json) {
    const Sequence in = made_up(model, model.info.run_capacity, 3);
    LW_ASSIGN(const Times times, times_of_runs(model, in, flags.repeats, 1));
    json["run"] = {{"ticks", in.rows},
                   {"median_ms", 1e3 * quantile(times.clock, 0.5)},
                   {"worst_ms", 1e3 * quantile(times.clock, 1)},
                   {"processor_median_ms", 1e3 * quantile(times.cpu, 0.5)},
                   {"memory_bytes", model.info.run_memory_bytes}};
    if (flags.threads == 1) return {};
    LW_ASSIGN(const Times of_threads, times_of_runs(model, in, flags.repeats, flags.threads));
    const std::vector<double> &shared = of_threads.clock;
    json["run"]["threads"] = flags.threads;
    json["run"]["threads_median_ms"] = 1e3 * quantile(shared, 0.5);
    json["run"]["threads_speed_up"] = quantile(times.clock, 0.5) / quantile(shared, 0.5);
    return {};
}

// Steps are timed through an internal interface of the runtime, which the shared library does not
// export.
Status bench_planner(const BenchFlags &flags) {
    std::vector<std::string> arguments = {flags.model.path};
    if (!flags.model.variant.empty()) arguments.insert(arguments.end(), {"--variant", flags.model.variant});
    if (flags.given_seconds)
        arguments.insert(arguments.end(), {"--seconds", std::to_string(*flags.given_seconds)});
    if (flags.model.memory)
        arguments.insert(arguments.end(), {"--memory", std::to_string(flags.model.memory)});
    if (flags.json) arguments.emplace_back("--json");
    std::vector<char *> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string &argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    return bench_program("planner", argv.data());
}

Status write_page(const BenchFlags &flags, const ordered_json &json) {
    if (flags.html.empty()) return {};
    const std::string page = bench_page(json);
    return write_output(flags.html, {reinterpret_cast<const uint8_t *>(page.data()), page.size()});
}

Status bench(const BenchFlags &flags) {
    const std::string meant = similar_bench_program(flags.model.path);
    if (!meant.empty() && access(flags.model.path.c_str(), F_OK) != 0)
        return Status::usage(flags.model.path + ": no such file; did you mean `longwave bench " + meant +
                             "`?");
    if (!flags.html.empty()) {
        if (flags.planner) return Status::usage("--html: --planner prints text or JSON only");
        LW_TRY(check_output("--html", flags.html, {flags.model.path}));
    }
    if (flags.planner) return bench_planner(flags);
    if (flags.layers) {
        LW_ASSIGN(const ordered_json times, bench_layers(flags.model));
        LW_TRY(write_page(flags, times));
        if (flags.json) print_text(stdout, "%s\n", json_line(times).c_str());
        else print_layers(times);
        return {};
    }
    ModelFlags model_flags = flags.model;
    model_flags.streams = !flags.streams.empty();
    LW_ASSIGN(const Model model, Model::open(model_flags));
    ordered_json json = {{"model", model.info.name},      {"version", lw_version()},
                         {"variant", model.info.variant}, {"device", name_of(model.device.get())},
                         {"machine", machine()},          {"threads", 1},
                         {"repeats", flags.repeats},      {"artifact_bytes", model.info.artifact_bytes}};
    if (model.placement) json["placement"] = to_json(*model.placement);
    for (const uint32_t n : flags.streams) {
        LW_ASSIGN(ordered_json at_once, bench_streams(model, n, flags.repeats));
        json["streams_at_once"].push_back(std::move(at_once));
    }
    if (model.info.has_stream) LW_TRY(bench_opening(flags, model, json));
    for (uint32_t entry = 0; entry < model.info.stream_entries; entry++) {
        LW_ASSIGN(ordered_json stream, bench_stream(flags, model, entry));
        if (entry == 0) json["stream"] = stream; // the default
        json["streams"].push_back(std::move(stream));
    }
    if (writes_text(model, flags.model.path)) {
        LW_ASSIGN(json["text"], bench_text(model, flags.model.path, flags.seconds()));
    }
    if (model.info.has_run) LW_TRY(bench_run(flags, model, json));
    LW_TRY(write_page(flags, json));
    if (flags.json) print_text(stdout, "%s\n", json_line(json).c_str());
    else print_bench(json);
    return {};
}

} // namespace

Command add_bench(CommandLine &program) {
    auto flags = std::make_shared<BenchFlags>();
    CommandLine *app =
        program.add_subcommand("bench", "Measure the speed and the memory of a compiled model.");
    flags->model.add(*app);
    app->add_option("--seconds", flags->given_seconds,
                    "Seconds of audio to stream, or longest time of the text benchmark (default: 10). With "
                    "--planner: seconds per entry (default: 2)")
        ->check(range(0.1, 36000.0))
        ->value("SECONDS");
    app->add_option("--ticks", flags->ticks,
                    "Input ticks to stream (default: --seconds of audio, or 20000 ticks of other inputs)")
        ->check(range(1, 1 << 28))
        ->value("TICKS");
    add_device_flags(*app, flags->model);
    app->add_option(
           "--streams", flags->streams,
           "Also time this many streams at once, one block each. Several numbers are separated by commas. "
           "A GPU runs the streams together, and so does a CPU with a model of `longwave compile --streams`")
        ->delimiter(',')
        ->check(range(1, 1 << 16));
    app->add_option("--repeats", flags->repeats, "Repetitions of open and offline-run timings")
        ->check(range(1, 10000))
        ->capture_default_str();
    app->add_option("--threads", flags->threads, "Also time offline runs with this many threads")
        ->check(range(1, 256));
    app->add_flag("--planner", flags->planner,
                  "Print predicted and measured time per layer instead, on one pinned thread");
    app->add_flag(
        "--layers", flags->layers,
        "Time each layer of an offline run on the CPU and on the GPU instead, and the transfers. Needs "
        "--device vulkan. `longwave compile --place` reads the output of --json");
    app->add_flag("--json", flags->json, "Print one JSON object");
    app->add_option("--html", flags->html,
                    "Also write a page with charts. It is one file and needs no network")
        ->file(".html");
    app->footer(
        "Further benchmarks are programs of the clone, with options of their own, listed by their --help. "
        "`tools/setup --tests` builds them, and they are not installed:\n"
        "  longwave bench all      the tables of docs/benchmarks.md again, each row beside the published "
        "one\n"
        "  longwave bench conv     long convolutions: FFTW, or VkFFT with --device vulkan\n"
        "  longwave bench stream   streamed convolutions: zita-convolver and FFTW\n"
        "  longwave bench linear   matrix multiplications: a BLAS library\n"
        "  longwave bench model    known models: PyTorch, ONNX Runtime and OpenVINO\n"
        "  longwave bench block    one layer of these models, in batches\n"
        "  longwave bench text     language models: PyTorch and llama.cpp, tokens per second and memory\n"
        "LONGWAVE_PYTHON names a Python interpreter that has the library to compare with. The exit code is 1 "
        "if outputs differ from those of the library.");
    return {app, [flags] { return bench(*flags); }};
}

} // namespace longwave::cli
