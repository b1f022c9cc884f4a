#include "tools/cli/commands/bench_program.h"
#include "tools/cli/command_line/mistakes.h"
#include "tools/cli/process/programs.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace longwave::cli {
namespace {

const std::vector<std::string> programs = {"all", "conv", "stream", "linear", "model", "block", "text"};

// `bench conv --device vulkan`, whose peer is a library for GPUs: a program of its own.
bool asks_for_gpu(char **arguments) {
    bool named = false;
    for (; *arguments; arguments++) {
        const std::string word = *arguments;
        if ((named && word.starts_with("vulkan")) || word.starts_with("--device=vulkan")) return true;
        named = word == "--device";
    }
    return false;
}

// Debian packages without which a build leaves the program out.
std::string packages_of(const std::string &program) {
    if (program == "bench_conv") return "libfftw3-dev";
    if (program == "bench_stream") return "libfftw3-dev and libzita-convolver-dev";
    if (program == "bench_conv_gpu") return "libvkfft-dev and glslang-dev";
    return "";
}

std::string how_to_get(const std::string &program) {
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    const std::string packages = packages_of(program),
                      needs = packages.empty() ? "" : " (it needs " + packages + ")";
    if (!fs::exists(here / "CMakeCache.txt", error))
        return "benchmarks are not installed; run tools/setup --tests in a clone" + needs +
               ", and its build/longwave bench";
    return "it is not built yet; run tools/setup --tests" + needs;
}

} // namespace

bool is_bench_program(const std::string &name) {
    return std::find(programs.begin(), programs.end(), name) != programs.end();
}

std::string similar_bench_program(const std::string &name) { return most_similar(name, programs); }

Status bench_program(const std::string &name, char **arguments) {
    const std::string called = "bench_" + name + (asks_for_gpu(arguments) ? "_gpu" : "");
    const Expected<std::string> program = installed_program(called);
    if (!program)
        return Status::device("bench " + std::string(name == "planner" ? "--" : "") + name + ": " +
                              how_to_get(called));
    std::vector<char *> argv = {const_cast<char *>(program->c_str())};
    while (*arguments) argv.push_back(*arguments++);
    argv.push_back(nullptr);
    execv(program->c_str(), argv.data());
    return Status::device(*program + ": cannot be started: " + std::strerror(errno));
}

} // namespace longwave::cli
