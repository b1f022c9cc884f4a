// bench_linear: our products against BLAS libraries, JSON lines on standard output. `longwave bench
// linear` starts it. Pins itself to the CPU it is on.
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
        "Compare matrix multiplications with BLAS libraries on one pinned thread. Prints one JSON object per "
        "line.",
        "longwave bench linear");
    program
        .add_option(
            "--against", options.against,
            "Libraries to compare with: openblas, or NAME=FILE of a library with sgemm_; none: no library")
        ->delimiter(',')
        ->capture_default_str();
    program.add_option("--sizes", options.sizes, "Inputs x outputs")->delimiter(',')->capture_default_str();
    program.add_option("--rows", options.rows, "Rows per call")
        ->delimiter(',')
        ->check(cli::range(1, 1 << 16))
        ->capture_default_str();
    program.add_option("--seconds", options.seconds, "Seconds per size and number of rows")
        ->check(cli::range(0.01, 3600.0))
        ->capture_default_str();
    program.add_option(
        "--target", options.target,
        "x86-64-v2, x86-64-v3, x86-64-v4 or x86-64-zen4, also for the other libraries (default: the best "
        "level of this CPU)");
    program
        .add_option("--weights", options.weights,
                    "Also time bf16, int8 or int4 weights. With one row, also print GB/s of weights and of a "
                    "plain read of "
                    "as many bytes")
        ->delimiter(',');
    program.add_flag("--float-activations", options.float_activations,
                     "Also time int8 weights with float32 activations, and compare int8 with that");
    program.add_flag("--byte-activations", options.byte_activations,
                     "Round rows to int8 for int8 and int4 weights (longwave compile --activations int8)");
    program.add_flag("--gated", options.gated,
                     "Add one gate per output. The other libraries compute the matrix multiplications only");
    program.add_option("--limit", limit, "Exit with 1 if a time ratio to a library is above this");
    program.add_flag("--json", json, "Accepted for uniformity: the result is always JSON");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;

    if (options.against == std::vector<std::string>{"none"}) options.against.clear();
    longwave::bench::pin_to_this_cpu();
    puts(longwave::bench::linear_environment(options).c_str());
    bool above = false;
    const longwave::Status status =
        longwave::bench::bench_linear(options, [&](const longwave::bench::LinearResult &r) {
            puts(longwave::bench::linear_json(r).c_str());
            fflush(stdout);
            above = above || (limit > 0 && r.peer != "read" && r.peer.find("float32") == std::string::npos &&
                              r.ratio > limit);
        });
    if (!status) {
        fprintf(stderr, "error: bench linear: %s\n", status.message().c_str());
        return status.fault() == longwave::Fault::check   ? 1
               : status.fault() == longwave::Fault::usage ? 2
                                                          : 4;
    }
    if (above) return fprintf(stderr, "error: bench linear: a ratio is above the limit %.2f\n", limit), 1;
    return 0;
}
