// bench_linear: our products against BLAS libraries, JSON lines on standard output. `longwave bench linear`
// starts it. Pins itself to the CPU it is on.
#include "tests/bench/linear/bench_linear.h"
#include "tests/bench/machine.h"
#include "tools/cli/command_line/command_line.h"
#include <cstdio>
#include <string>

int main(int argc, char **argv) {
    namespace cli = longwave::cli;
    longwave::bench::LinearOptions options;
    double limit = 0;
    bool json = true;
    cli::CommandLine program(
        "Our products of rows and weights against BLAS libraries, one pinned thread; one "
        "JSON object a line",
        "longwave bench linear");
    program.add_option("--against", options.against, "Peers: openblas, or NAME=LIBRARY that has sgemm_")
        ->delimiter(',')
        ->capture_default_str();
    program.add_option("--sizes", options.sizes, "Inputs x outputs")->delimiter(',')->capture_default_str();
    program.add_option("--rows", options.rows, "Rows of a call")
        ->delimiter(',')
        ->check(cli::range(1, 1 << 16))
        ->capture_default_str();
    program.add_option("--seconds", options.seconds, "For each size and number of rows")
        ->check(cli::range(0.01, 3600.0))
        ->capture_default_str();
    program.add_option("--target", options.target,
                       "x86-64-v2, x86-64-v3 or x86-64-v4 (default: the best that this CPU runs); the "
                       "peers are held to it");
    program
        .add_option(
            "--weights", options.weights,
            "Formats of our weights, bf16 and int8, each beside float32 (one row: GB/s of weights beside "
            "a plain read of as many bytes)")
        ->delimiter(',');
    program.add_flag("--gated", options.gated,
                     "Ours with as many gates as outputs; the peers compute the products alone");
    program.add_option("--limit", limit, "Exit 1 when a ratio against a library is above this");
    program.add_flag("--json", json, "Accepted for uniformity: there is no other form");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;

    longwave::bench::pin_to_this_processor();
    puts(longwave::bench::linear_environment(options).c_str());
    bool above = false;
    const longwave::Status status =
        longwave::bench::bench_linear(options, [&](const longwave::bench::LinearResult &r) {
            puts(longwave::bench::linear_json(r).c_str());
            fflush(stdout);
            above = above || (limit > 0 && r.peer != "read" && r.peer != "float32" && r.ratio > limit);
        });
    if (!status) return fprintf(stderr, "error: bench linear: %s\n", status.message().c_str()), 4;
    if (above) return fprintf(stderr, "error: bench linear: a ratio is above the limit %.2f\n", limit), 1;
    return 0;
}
