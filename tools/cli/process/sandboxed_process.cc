#include "tools/cli/process/sandboxed_process.h"
#include "compiler/base/process.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <csignal>
#include <sys/prctl.h>

namespace longwave::cli {
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
