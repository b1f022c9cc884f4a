// longwave-oracles: reference tensors against compiled models.
#include "tests/oracles/fixture.h"
#include "tests/oracles/outcome.h"
#include "tests/oracles/trials.h"
#include "tools/cli/command_line.h"
#include "tools/cli/json_line.h"
#include "tools/cli/kgen.h"
#include <cstdio>
#include <filesystem>

namespace longwave::oracles {
namespace {

Outcome measure(const std::string &path, const Settings &settings) {
    Outcome outcome{std::filesystem::path(path).stem().string(), kind_of(path), settings.blocks, {}, {}};
    const auto compare_all = [&]() -> Status {
        LW_ASSIGN(const std::vector<Trial> trials, read_trials(path));
        for (const Trial &trial : trials) {
            LW_ASSIGN(const auto measured, run(trial, settings));
            outcome.measured.insert(outcome.measured.end(), measured.begin(), measured.end());
        }
        return outcome.measured.empty() ? Status::check("nothing was compared") : Status();
    };
    outcome.status = compare_all();
    return outcome;
}

} // namespace
} // namespace longwave::oracles

int main(int argc, char **argv) {
    using namespace longwave;
    cli::CommandLine program("Compares compiled models with reference tensors.", "longwave-oracles");
    std::string folder;
    std::vector<std::string> patterns;
    oracles::Settings settings;
    bool verbose = false, json = false;
    program.add_option("folder", folder, "Fixtures: NAME.json with NAME.safetensors")->required();
    program.add_option("pattern", patterns, "Names to take: shell patterns or parts of names (default: all)");
    program.add_option("--blocks", settings.blocks, "Stream blocks to try")
        ->delimiter(',')
        ->capture_default_str();
    program.add_option("--convolution", settings.convolution, "Force one algorithm");
    program.add_option("--cache", settings.cache, "Folder of compiled kernels");
    program.add_option("--kgen", settings.kgen,
                       "The kernel compiler (default: longwave-kgen beside this program)");
    program.add_flag("-v,--verbose", verbose, "Every comparison on its own line");
    program.add_flag("--json", json, "One JSON object a case; the closing line goes to stderr");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;
    if (settings.kgen.empty()) {
        const auto kgen = cli::kgen_beside_this_program();
        if (!kgen) {
            std::fprintf(stderr, "error: %s\n", kgen.status().message().c_str());
            return 4;
        }
        settings.kgen = *kgen;
    }
    const auto fixtures = oracles::find_fixtures(folder, patterns);
    if (!fixtures) {
        std::fprintf(stderr, "error: %s\n", fixtures.status().message().c_str());
        return 3;
    }
    size_t passed = 0, failed = 0;
    for (const std::string &path : *fixtures) {
        const oracles::Outcome outcome = oracles::measure(path, settings);
        (outcome.passed() ? passed : failed)++;
        const std::string line =
            json ? cli::json_line(oracles::to_json(outcome)) + "\n" : oracles::to_text(outcome, verbose);
        std::fputs(line.c_str(), stdout);
        std::fflush(stdout);
    }
    std::fprintf(json ? stderr : stdout, "%zu passed, %zu failed\n", passed, failed);
    return failed ? 1 : 0;
}
