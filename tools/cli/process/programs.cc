#include "tools/cli/process/programs.h"
#include "compiler/base/process.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <csignal>
#include <filesystem>
#include <sys/prctl.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace longwave::cli {

Expected<std::string> installed_program(const std::string &name) {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    // In a build folder, tests are one folder below the programs. Installed, programs that users do
    // not start themselves lie in lib*/longwave.
    const fs::path here = self.parent_path(), above = here.parent_path();
    for (const fs::path &folder : {here, above, above / LONGWAVE_PRIVATE_FOLDER, above.parent_path() / "bin"})
        if (const fs::path program = folder / name;
            access(program.c_str(), X_OK) == 0 && fs::is_regular_file(program, error))
            return program.string();
    return Status::device(name + " was not found in the folder of " + self.string());
}

namespace {

// Empty: exit code 0.
std::string failure_of(const compiler::ProcessResult &result, double seconds) {
    if (result.timed_out) return format("not ready after %g s", seconds);
    if (result.exit_code == 0) return "";
    if (result.exit_code > 128) return format("ended by signal %d", result.exit_code - 128);
    const std::string line = printable_last_line(result.error, 300);
    return line.empty() ? format("exit code %d", result.exit_code) : line;
}

} // namespace

Expected<SandboxedResult> run_sandboxed(const std::vector<std::string> &arguments, double seconds) {
    LW_ASSIGN(compiler::ProcessResult result, compiler::run_process_for(arguments, seconds));
    std::string failure = failure_of(result, seconds);
    if (!failure.empty()) return SandboxedResult{"", std::move(failure)};
    return SandboxedResult{std::move(result.output), ""};
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGTERM); }

} // namespace longwave::cli
