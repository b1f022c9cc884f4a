// bench_planner: an artifact's layers, predicted and measured. `longwave bench MODEL --planner` starts it.
// Pins itself to the CPU it is on.
#include "tests/bench/machine.h"
#include "tests/bench/planner/bench_planner.h"
#include "tools/cli/command_line/command_line.h"
#include <cstdio>

int main(int argc, char **argv) {
    namespace cli = longwave::cli;
    namespace bench = longwave::bench;
    bench::PlannerOptions options;
    bool json = false;
    cli::CommandLine program("What the planner predicted of an artifact's layers, beside what they take; one "
                             "pinned thread",
                             "longwave bench --planner");
    program.add_option("artifact", options.path, "Artifact file (.lw)")->required();
    program.add_option("--variant", options.variant, "Code variant (default: the best this CPU runs)");
    program
        .add_option("--memory", options.memory, "Memory it may take (default: 64 MiB or 64 times the file)")
        ->size();
    program.add_option("--seconds", options.seconds, "For each entry")
        ->check(cli::range(0.01, 3600.0))
        ->capture_default_str();
    program.add_flag("--json", json, "One JSON object");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;

    bench::pin_to_this_processor();
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
