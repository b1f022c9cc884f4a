// Arguments of the command line, with a zero byte between two. They are parsed, and no command
// runs. What must hold: any arguments are taken, or end the program with success (help, version) or
// with the code for wrong usage.
#include "longwave/longwave.h"
#include "tests/fuzz/must.h"
#include "tools/cli/commands/command.h"
#include <cstring>

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const bool quiet = freopen("/dev/null", "w", stdout) != nullptr; // help and versions
    must(quiet, "nowhere to print to");
    std::string bytes(reinterpret_cast<const char *>(data), size);
    std::vector<char *> arguments = {const_cast<char *>("longwave")};
    for (char *at = bytes.data(), *end = at + size; at < end && arguments.size() < 64; at += strlen(at) + 1)
        arguments.push_back(at);
    const int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    cli::CommandLine program("Fuzzed.", "longwave");
    program.set_version_flag("--version", lw_version());
    program.require_subcommand();
    std::vector<cli::Command> commands; // they hold what their flags are written to
    for (const auto add : {cli::add_compile, cli::add_inspect, cli::add_verify, cli::add_run, cli::add_listen,
                           cli::add_eval, cli::add_generate, cli::add_score, cli::add_bench, cli::add_tune,
                           cli::add_devices, cli::add_manual})
        commands.push_back(add(program));
    const std::optional<int> code = program.parse(count, arguments.data());
    must(!code || *code == 0 || *code == 2, "wrong arguments are wrong usage");
    return 0;
}
