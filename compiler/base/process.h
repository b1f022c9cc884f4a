// Runs another program: no shell, its words kept.
#pragma once
#include "formats/base/expected.h"
#include <filesystem>
#include <memory>
#include <optional>
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

// A program that stays and answers one request after the other, because its start costs more than its
// work. Each packet on its standard input, a socket, holds the arguments of a request, each ended by a
// zero byte. It does what a program of its own would do for them, words on standard output and error
// included. Then it sends the exit code back, an int32. It ends when the socket does.
class StayingProgram {
public:
    // Fault::device: it cannot be started.
    static Expected<std::unique_ptr<StayingProgram>> start(const std::vector<std::string> &arguments);
    ~StayingProgram(); // ends the program and waits for it
    StayingProgram(const StayingProgram &) = delete;
    StayingProgram &operator=(const StayingProgram &) = delete;

    // What run_process() would return for these arguments. One thread at a time. None: the program does not
    // answer, and never will again.
    std::optional<ProcessResult> ask(const std::vector<std::string> &arguments);

private:
    struct Running;
    explicit StayingProgram(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

// A whole regular file of the toolchain. Fault::device with its path and the reason.
Expected<std::vector<uint8_t>> read_bytes(const std::filesystem::path &path);

} // namespace longwave::compiler
