// A verb of the command line: its flags, and what it does. One file each.
#pragma once
#include "formats/base/status.h"
#include <CLI/CLI.hpp>
#include <functional>

namespace longwave::cli {

struct Command {
    CLI::App *flags;             // parsed() tells whether it was given
    std::function<Status()> run; // failures become one line on stderr and an exit code
};

Command add_compile(CLI::App &program);
Command add_inspect(CLI::App &program);
Command add_verify(CLI::App &program);
Command add_run(CLI::App &program);
Command add_listen(CLI::App &program);
Command add_eval(CLI::App &program);
Command add_bench(CLI::App &program);
// `longwave bench conv ...`: becomes that program; returns only when it cannot be started. Its flags are its
// own.
Status bench_convolution(char **arguments);

} // namespace longwave::cli
