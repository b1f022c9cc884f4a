// longwave-oracles: reference tensors against compiled models.
#include "tests/oracles/fixture.h"
#include "tests/oracles/trials.h"
#include "tools/cli/command_line.h"
#include "tools/cli/kgen.h"
#include "tools/cli/text.h"
#include <cstdio>
#include <filesystem>

namespace longwave::oracles {
namespace {

// All measurements of a fixture; its line tells the one closest to (or beyond) its limit.
Expected<std::vector<Measured>> measure(const std::string &path, const Settings &settings) {
    LW_ASSIGN(const std::vector<Trial> trials, read_trials(path));
    std::vector<Measured> all;
    for (const Trial &trial : trials) {
        LW_ASSIGN(const auto measured, run(trial, settings));
        all.insert(all.end(), measured.begin(), measured.end());
    }
    if (all.empty()) return Status::check("nothing was compared");
    return all;
}

std::string first_line(const std::string &text) { return text.substr(0, text.find('\n')); }

bool report(const std::string &path, const Settings &settings, bool verbose) {
    const std::string name = std::filesystem::path(path).stem().string();
    const auto measured = measure(path, settings);
    if (!measured) {
        std::printf("%-44s %-34s error -        limit -      FAIL  %s\n", name.c_str(), "-",
                    first_line(measured.status().message()).c_str());
        if (verbose) std::printf("%s\n", measured.status().message().c_str());
        return false;
    }
    const Measured *worst = &measured->front();
    bool ok = true;
    std::string whole; // what was compared, streams once
    for (const Measured &m : *measured) {
        ok &= m.ok();
        if (!(m.error / m.limit <= worst->error / worst->limit)) worst = &m;
        if (m.what.rfind("stream@", 0) != 0) whole += (whole.empty() ? "" : ",") + m.what;
    }
    size_t streams = 0;
    for (const Measured &m : *measured) streams += m.what.rfind("stream@", 0) == 0;
    if (streams) whole += cli::format("%s%zu streamed", whole.empty() ? "" : " + ", streams);
    std::printf("%-44s %-34s error %.1e  limit %.0e  %-4s  worst: %s\n", name.c_str(), whole.c_str(),
                worst->error, worst->limit, ok ? "ok" : "FAIL", worst->what.c_str());
    if (verbose)
        for (const Measured &m : *measured)
            std::printf("    %-40s error %.1e  limit %.0e  %s\n", m.what.c_str(), m.error, m.limit,
                        m.ok() ? "ok" : "FAIL");
    return ok;
}

} // namespace
} // namespace longwave::oracles

int main(int argc, char **argv) {
    using namespace longwave;
    cli::CommandLine program("Compares compiled models with reference tensors.", "longwave-oracles");
    std::string folder;
    std::vector<std::string> patterns;
    oracles::Settings settings;
    bool verbose = false;
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
        (oracles::report(path, settings, verbose) ? passed : failed)++;
        std::fflush(stdout);
    }
    std::printf("%zu passed, %zu failed\n", passed, failed);
    return failed ? 1 : 0;
}
