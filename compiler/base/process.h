// Runs another program and waits: no shell, its words kept.
#pragma once
#include "formats/base/expected.h"
#include <filesystem>
#include <string>
#include <vector>

namespace longwave::compiler {

struct ProcessResult {
    int exit_code = 0;      // 128 + signal when it was killed
    bool timed_out = false; // it was killed because its time was over
    std::string output;     // the first 64 KiB of standard output
    std::string error;      // likewise of standard error; empty where `output` has both
};

// arguments[0] is the program: a path, or a name looked up in PATH. `output` has standard output
// and error in their order. Fault::device: it cannot be started.
Expected<ProcessResult> run_process(const std::vector<std::string> &arguments);

// The same for a program that may hang: after `seconds` it is killed. It leads a process group, and
// all of the group is killed when it ends. Standard error is kept apart.
Expected<ProcessResult> run_process_for(const std::vector<std::string> &arguments, double seconds);

// A whole regular file of the toolchain. Fault::device with its path and the reason.
Expected<std::vector<uint8_t>> read_bytes(const std::filesystem::path &path);

} // namespace longwave::compiler
