// Programs that are installed in the same folder as this one, such as the kernel compiler.
#pragma once
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::cli {

Expected<std::string> installed_program(const std::string &name); // Fault::device: not found
inline Expected<std::string> installed_kgen() { return installed_program("longwave-kgen"); }

// Runs a program that may crash or hang.

struct SandboxedResult {
    std::string output;  // the first 64 KiB of its standard output
    std::string failure; // last line on stderr, signal, or time limit; empty: exit code 0
};

// arguments[0] is a path. After `seconds` the program and all programs it started are killed.
// Fault::device: it cannot be started.
Expected<SandboxedResult> run_sandboxed(const std::vector<std::string> &arguments, double seconds);

// For the sandboxed program itself: it ends when its parent ends.
void end_with_parent();

} // namespace longwave::cli
