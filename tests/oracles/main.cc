// longwave-oracles: reference tensors against compiled models.
#include "targets/target.h"
#include "tests/oracles/fixture.h"
#include "tests/oracles/outcome.h"
#include "tests/oracles/trials.h"
#include "tools/cli/command_line/command_line.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/programs.h"
#include "tools/kernels/kernel_call.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace longwave::oracles {
namespace {

Outcome measure(const std::string &path, const Settings &settings) {
    Outcome outcome{std::filesystem::path(path).stem().string(), kind_of(path), settings.blocks, {}, {}, {}};
    const auto compare_all = [&]() -> Status {
        LW_ASSIGN(const std::vector<Trial> trials, read_trials(path));
        for (const Trial &trial : trials) {
            std::string not_there;
            const auto measured = run(trial, settings, &not_there);
            if (!not_there.empty()) {
                outcome.not_there = not_there;
                continue;
            }
            if (!measured) return measured.status();
            outcome.measured.insert(outcome.measured.end(), measured->begin(), measured->end());
        }
        if (!outcome.not_there.empty()) return Status();
        return outcome.measured.empty() ? Status::check("nothing was compared") : Status();
    };
    outcome.status = compare_all();
    return outcome;
}

// The device, and the target with most shared memory that it runs.
Status open_device(const std::string &name, bool share_dispatches, Settings &settings) {
    LW_ASSIGN(settings.device, cli::open_device(name, {.share_dispatches = share_dispatches}));
    if (!settings.device) return {};
    LW_ASSIGN(settings.gpu_target, cli::target_of(settings.device.get()));
    return {};
}

// The targets of a list, and the emulators of those that this machine does not run.
Status set_targets(const std::string &list, const std::vector<std::string> &emulators, Settings &settings) {
    std::vector<std::string> loading; // their code from a file
    for (const std::string &name : cli::split(list, ',')) {
        settings.targets.push_back(name == "host" ? cli::host_target() : name);
        const targets::Target *target = targets::find(settings.targets.back());
        if (!target)
            return Status::usage("--target " + name +
                                 ": expected host, arm64, armv7, wasm32 or an x86-64 level");
        if (target->loads_code) loading.push_back(target->name);
        else settings.programs[target->name] = "";
    }
    std::vector<std::string> started;
    for (const std::string &flag : emulators) {
        const size_t equals = flag.find('=');
        const auto program = settings.programs.find(flag.substr(0, equals));
        if (program == settings.programs.end()) started.push_back(flag);
        else program->second = flag.substr(equals + 1);
    }
    LW_ASSIGN(settings.emulators, cli::start_emulators(started, loading));
    for (const std::string &name : settings.targets) {
        const auto program = settings.programs.find(name);
        if (program == settings.programs.end()
                ? !settings.emulators.contains(name) && !kernels::host_runs(*targets::find(name))
                : program->second.empty())
            return Status::usage("--target " + name + ": this machine does not run it; give --emulator " +
                                 name + "=COMMAND");
    }
    return {};
}

} // namespace
} // namespace longwave::oracles

int main(int argc, char **argv) {
    using namespace longwave;
    cli::CommandLine program("Compare compiled models with reference tensors.", "longwave-oracles");
    std::string folder;
    std::vector<std::string> patterns;
    oracles::Settings settings;
    std::string device = "cpu", targets;
    std::vector<std::string> emulators;
    bool verbose = false, json = false, share_dispatches = false;
    program.add_option("folder", folder, "Folder of fixtures: NAME.json with NAME.safetensors")->required();
    program.add_option("pattern", patterns,
                       "Fixtures to run: shell patterns or parts of names (default: all)");
    program.add_option("--blocks", settings.blocks, "Stream blocks to try")
        ->delimiter(',')
        ->capture_default_str();
    program.add_option("--convolution", settings.convolution, "Use this algorithm");
    program.add_option("--cache", settings.cache, "Folder of compiled kernels");
    program.add_option("--kgen", settings.kgen,
                       "Kernel compiler (default: the longwave-kgen next to this program)");
    program.add_option("--target", targets,
                       "CPU targets, separated by commas: one artifact for all of them, and states that "
                       "go from one to the other (default: host)");
    program
        .add_option(
            "--emulator", emulators,
            "COMMAND, or TARGET=COMMAND, for a target of another machine, as of `longwave compile`. For "
            "wasm32: what serves a library, whose path follows, such as tests/web/serve.py")
        ->single();
    cli::add_device_flag(program, device);
    cli::add_share_dispatches_flag(program, share_dispatches);
    program
        .add_option("--gpu-storage", settings.gpu_storage,
                    "f16: offline runs on the device store float16 between kernels, with limits of their own")
        ->capture_default_str();
    program.add_flag("-v,--verbose", verbose, "Print every comparison");
    program.add_flag("--json", json, "Print one JSON object per case. The summary goes to stderr");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;
    if (settings.kgen.empty()) {
        const auto kgen = cli::installed_kgen();
        if (!kgen) {
            std::fprintf(stderr, "error: %s\n", kgen.status().message().c_str());
            return 4;
        }
        settings.kgen = *kgen;
    }
    Status ready = oracles::set_targets(targets, emulators, settings);
    if (ready) ready = oracles::open_device(device, share_dispatches, settings);
    if (ready && settings.device && !settings.targets.empty())
        ready = Status::usage("--target: leave it out with --device");
    if (!ready) {
        std::fprintf(stderr, "error: %s\n", ready.message().c_str());
        return ready.fault() == Fault::usage ? 2 : 4;
    }
    const auto fixtures = oracles::find_fixtures(folder, patterns);
    if (!fixtures) {
        std::fprintf(stderr, "error: %s\n", fixtures.status().message().c_str());
        return 3;
    }
    size_t passed = 0, failed = 0, not_there = 0;
    std::vector<oracles::Outcome> outcomes;
    for (const std::string &path : *fixtures) {
        outcomes.push_back(oracles::measure(path, settings));
        const oracles::Outcome &outcome = outcomes.back();
        const bool wrong = !outcome.status || std::any_of(outcome.measured.begin(), outcome.measured.end(),
                                                          [](const auto &m) { return !m.ok(); });
        (outcome.passed() ? passed : !wrong && !outcome.not_there.empty() ? not_there : failed)++;
        const std::string line =
            json ? cli::json_line(oracles::to_json(outcome)) + "\n" : oracles::to_text(outcome, verbose);
        std::fputs(line.c_str(), stdout);
        std::fflush(stdout);
    }
    std::fputs(oracles::by_target(outcomes, settings.targets).c_str(), json ? stderr : stdout);
    std::fprintf(json ? stderr : stdout, "%zu passed, %zu failed", passed, failed);
    if (settings.device)
        std::fprintf(json ? stderr : stdout, ", %zu not on %s", not_there,
                     cli::name_of(settings.device.get()).c_str());
    std::fprintf(json ? stderr : stdout, "\n");
    return failed ? 1 : 0;
}
