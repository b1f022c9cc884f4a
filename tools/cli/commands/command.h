// A command of the command line: its flags and its function. One file each.
#pragma once
#include "formats/base/status.h"
#include "tools/cli/command_line/command_line.h"
#include <functional>

namespace longwave::cli {

struct Command {
    CommandLine *flags;          // parsed(): it was given
    std::function<Status()> run; // main.cc prints a failure as one line and sets the exit code
};

Command add_compile(CommandLine &program);
Command add_import(CommandLine &program);
Command add_inspect(CommandLine &program);
Command add_verify(CommandLine &program);
Command add_run(CommandLine &program);
Command add_listen(CommandLine &program);
Command add_vad(CommandLine &program);
Command add_denoise(CommandLine &program);
Command add_eval(CommandLine &program);
Command add_bench(CommandLine &program);
Command add_generate(CommandLine &program);
Command add_score(CommandLine &program);
Command add_tune(CommandLine &program);
Command add_devices(CommandLine &program);
Command add_keygen(CommandLine &program);
Command add_sign(CommandLine &program);
Command add_pack(CommandLine &program);
Command add_manual(CommandLine &program);

// The importer, in place of this program: it has its own arguments and its own help.

Status import_program(char **arguments); // returns only if Python does not start

} // namespace longwave::cli
