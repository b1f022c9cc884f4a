// bench_batch: language models with generators, keyword models with spotters. Models come from
// `longwave compile --streams 16`. The exit code is 1 if a batch gives other tokens or events.
#include "tests/bench/batch/bench_batch.h"
#include "tests/bench/machine.h"
#include "tools/cli/command_line/command_line.h"
#include <cstdio>
#include <fmt/format.h>
#include <vector>

namespace longwave::bench {
namespace {

Expected<bool> bench(const std::string &file, const BatchOptions &options) {
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1;
    lw_model *opened = nullptr;
    LW_TRY(checked(lw_model_open(file.c_str(), &open, &opened), "opening the model"));
    const ModelHandle model(opened, lw_model_close);
    lw_input_info input = LW_INPUT_INFO_INIT;
    LW_TRY(checked(lw_model_input(opened, 0, &input), "reading the input"));
    const bool text = input.kind == LW_INPUT_TOKENS;
    if (!text && options.audio.empty()) return Status::input("spotters need --audio");
    LW_ASSIGN(const BatchTimes times,
              text ? bench_generators(opened, options) : bench_spotters(opened, options));
    const char *step = text ? "token" : "block", *result = text ? "tokens" : "events";
    fmt::print("{{\"what\":\"{}\",\"count\":{},\"alone_ms_per_{}\":{:.5f},\"batch_ms_per_{}\":{:.5f},"
               "\"ratio\":{:.3f},\"{}\":{},\"same\":{}}}\n",
               text ? "generators" : "spotters", options.count, step, times.alone_us / 1000, step,
               times.together_us / 1000, times.together_us / times.alone_us, result, times.results,
               times.same);
    std::fflush(stdout);
    return times.same;
}

} // namespace
} // namespace longwave::bench

int main(int argc, char **argv) {
    using namespace longwave;
    bench::BatchOptions options;
    std::vector<std::string> models;
    cli::CommandLine program(
        "Time generators or spotters of a compiled model one by one and in one batch, on one pinned thread. "
        "Prints one JSON object per model: CPU time of a token or block, the least of the rounds.",
        "bench_batch");
    program.add_option("MODEL", models, "Compiled models (.lw), with --streams")->required();
    program.add_option("--count", options.count, "Generators or spotters")
        ->check(cli::range(1, 4096))
        ->capture_default_str();
    program.add_option("--steps", options.steps, "Tokens or blocks of each in a round")
        ->check(cli::range(1, 1 << 20))
        ->capture_default_str();
    program.add_option("--rounds", options.rounds, "Rounds, in turn; the fastest counts")
        ->check(cli::range(1, 100000))
        ->capture_default_str();
    program.add_option("--audio", options.audio, "Recording that spotters hear")->file();
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;
    bench::pin_to_this_cpu();
    bool same = true;
    for (const std::string &model : models) {
        const Expected<bool> one = bench::bench(model, options);
        if (!one) {
            std::fprintf(stderr, "error: %s: %s\n", model.c_str(), one.status().message().c_str());
            return 4;
        }
        same = same && *one;
    }
    return same ? 0 : 1;
}
