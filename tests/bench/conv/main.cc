// bench_conv: our long convolutions against FFTW's, JSON lines on standard output. `longwave bench
// conv` starts it. Pins itself to the CPU it is on.
#include "tests/bench/conv/bench_conv.h"
#include "tests/bench/machine.h"
#include "tools/cli/command_line/command_line.h"
#include <algorithm>
#include <cstdio>
#include <string>

int main(int argc, char **argv) {
    namespace cli = longwave::cli;
    longwave::bench::ConvOptions options;
    std::string peer;
    double limit = 0;
    bool json = true;
    cli::CommandLine program(
        "Compare long convolutions with FFTW on one pinned thread. Prints one JSON object per line.",
        "longwave bench conv");
    program.add_option("--against", peer, "Library to compare with")
        ->check(cli::one_of({"fftw"}))
        ->default_str("fftw");
    program.add_option("--lengths", options.lengths, "Lengths of the sequence")
        ->delimiter(',')
        ->check(cli::range(4, 1 << 20))
        ->capture_default_str();
    program.add_option("--channels", options.channels, "Channels (default: 64, or 32 from 4096 rows)")
        ->check(cli::range(1, 4096));
    program.add_option("--taps", options.taps, "Taps of the kernel (default: as many as samples)")
        ->check(cli::range(1, 1 << 20));
    program
        .add_option("--form", options.form, "Algorithm of Longwave (default: the faster one on this machine)")
        ->check(cli::one_of({"right_angle", "polyphase", "overlap_add_phases"}));
    program.add_option("--seconds", options.seconds, "Seconds per length")
        ->check(cli::range(0.1, 3600.0))
        ->capture_default_str();
    program.add_option("--target", options.target,
                       "x86-64-v2, x86-64-v3 or x86-64-v4 (default: the best level of this CPU)");
    program.add_flag("--patient", options.patient,
                     "Plan FFTW with PATIENT instead of MEASURE. This takes minutes at the largest length");
    program.add_option("--limit", limit,
                       "Exit with 1 if a time ratio of right_angle to the library is above this");
    program.add_flag("--json", json, "Accepted for uniformity: the result is always JSON");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;

    longwave::bench::pin_to_this_cpu();
    puts(longwave::bench::conv_environment(options).c_str());
    auto results = longwave::bench::bench_conv(options, [](const longwave::bench::ConvResult &r) {
        puts(longwave::bench::conv_json(r).c_str());
        fflush(stdout);
    });
    if (!results) return fprintf(stderr, "error: bench conv: %s\n", results.status().message().c_str()), 4;
    for (const auto &r : *results)
        if (const double error = std::max(r.error, r.peer_error);
            !(error <= longwave::bench::most_conv_error))
            return fprintf(stderr,
                           "error: bench conv: length %d: %s differs from float64 by %.1e (relative L2), at "
                           "most %.0e\n",
                           r.length, r.error > r.peer_error ? "Longwave" : r.peer.c_str(), error,
                           longwave::bench::most_conv_error),
                   1;
    for (const auto &r : *results)
        if (limit > 0 && r.peer == "fftw-right-angle" && r.ratio > limit)
            return fprintf(stderr, "error: bench conv: length %d is above the limit %.2f\n", r.length, limit),
                   1;
    return 0;
}
