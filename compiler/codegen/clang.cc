#include "compiler/codegen/clang.h"
#include "compiler/base/process.h"
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace longwave::compiler {

namespace {

constexpr int oldest = 19; // that reads the assembly of Halide's LLVM

// The sizes of stack frames are what stack_bytes() reads (elf_stack.h).
const std::vector<std::string> flags = {"-O2",
                                        "-fPIC",
                                        "-ffunction-sections",
                                        "-fstack-size-section",
                                        "-fno-unwind-tables",
                                        "-fno-asynchronous-unwind-tables",
                                        "-Wno-override-module"};

// The first line of `PROGRAM --version`. Empty: not clang, or too old.
std::string version_of(const std::string &program) {
    const auto run = run_process({program, "--version"});
    if (!run || run->exit_code != 0) return "";
    const std::string line = run->output.substr(0, run->output.find('\n')), mark = "clang version ";
    const size_t at = line.find(mark);
    if (at == std::string::npos || std::atoi(line.c_str() + at + mark.size()) < oldest) return "";
    return line;
}

} // namespace

std::string Clang::version() const { return fmt::format("{} {}", version_, fmt::join(flags, " ")); }

Expected<Clang> Clang::find() {
    if (const char *named = std::getenv("LONGWAVE_CLANG")) {
        std::string version = version_of(named);
        if (!version.empty()) return Clang(named, std::move(version));
        return Status::device(
            fmt::format("LONGWAVE_CLANG={}: is not a clang of version {} or later", named, oldest));
    }
    for (const char *name : {"clang-19", "clang-20", "clang-21", "clang-22", "clang"})
        if (std::string version = version_of(name); !version.empty()) return Clang(name, std::move(version));
    return Status::device(
        fmt::format("this target needs clang {} or later: install the package clang-{}, or set "
                    "LONGWAVE_CLANG to its path",
                    oldest, oldest));
}

Status Clang::compile(const targets::Target &target, const std::string &assembly,
                      const std::string &object) const {
    std::vector<std::string> command = {program_};
    command.insert(command.end(), target.clang.begin(), target.clang.end());
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-c", assembly, "-o", object});
    LW_ASSIGN(const auto run, run_process(command));
    if (run.exit_code == 0) return Status::ok();
    return Status::internal(fmt::format("{} ended with {}: {}", program_, run.exit_code, run.output));
}

} // namespace longwave::compiler
