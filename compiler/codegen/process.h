// Runs another program and waits: no shell, its words kept.
#pragma once
#include "formats/base/expected.h"
#include <filesystem>
#include <string>
#include <vector>

namespace longwave::compiler {

struct ProcessResult {
    int exit_code = 0;  // 128 + signal when it was killed
    std::string output; // standard output and error together, the beginning of it
};

// arguments[0] is the program: a path, or a name looked up in PATH. Fault::device when it cannot be started.
Expected<ProcessResult> run_process(const std::vector<std::string> &arguments);

// A whole regular file of the toolchain. Fault::device with its path and the reason.
Expected<std::vector<uint8_t>> read_bytes(const std::filesystem::path &path);

} // namespace longwave::compiler
