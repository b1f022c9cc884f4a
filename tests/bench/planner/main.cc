// bench_planner: an artifact's layers, predicted and measured. `longwave bench MODEL --planner`
// starts it. Pins itself to the CPU it is on.
#include "tests/bench/machine.h"
#include "tests/bench/planner/bench_planner.h"
#include "tools/cli/command_line/command_line.h"
#include <cstdio>

int main(int argc, char **argv) {
    namespace cli = longwave::cli;
    namespace bench = longwave::bench;
    bench::PlannerOptions options;
    bool json = false;
    cli::CommandLine program("Print predicted and measured time per layer of a compiled model, on one pinned "
                             "thread.",
                             "longwave bench --planner");
    program.add_option("model", options.path, "Compiled model (.lw)")->file(".lw")->required();
    program.add_option("--variant", options.variant, "Code variant (default: the best for this CPU)");
    program
        .add_option("--memory", options.memory,
                    "Memory limit (default: the larger of 64 MiB and 64 times the file)")
        ->size();
    program.add_option("--seconds", options.seconds, "Seconds per entry")
        ->check(cli::range(0.01, 3600.0))
        ->capture_default_str();
    program.add_flag("--json", json, "Print one JSON object");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;

    bench::pin_to_this_cpu();
    const auto result = bench::bench_planner(options);
    if (!result) {
        fprintf(stderr, "error: %s\n", result.status().message().c_str());
        return result.status().fault() == longwave::Fault::input ? 3 : 4;
    }
    const std::string cpu = bench::cpu_name();
    if (json) puts(to_json(*result, cpu).dump().c_str());
    else fputs(to_text(*result, cpu).c_str(), stdout);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 4;
}
