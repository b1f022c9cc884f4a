// longwave: finds the command, runs it, and turns its Status into one line on stderr and an exit
// code.
#include "compiler/driver/compile.h"
#include "tools/cli/command_line/mistakes.h"
#include "tools/cli/commands/bench_program.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/process/interruption.h"
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <longwave/longwave.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <new>
#include <unistd.h>

namespace longwave::cli {
namespace {

int exit_code(Fault fault) {
    switch (fault) {
    case Fault::none: return 0;
    case Fault::check: return 1;
    case Fault::usage: return 2;
    case Fault::input: return 3;
    case Fault::device:
    case Fault::internal: return 4;
    }
    return 4;
}

// Output that did not reach the disk or the pipe is a failure, of `--version` as well.
int ended(int code) {
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    print_text(stderr, "error: standard output cannot be written\n");
    return code ? code : exit_code(Fault::device);
}

// A lack of memory in a thread, or in a destructor (that of a JSON value takes memory), ends the
// program here. It then leaves no files and no programs behind either.
void end_without_memory() {
    const bool memory = [] {
        try {
            if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
        } catch (const std::bad_alloc &) {
            return true;
        } catch (...) {
        }
        return false;
    }();
    if (!memory) std::abort();
    compiler::abandon_compiles();
    constexpr char line[] = "error: not enough memory\n";
    (void)!::write(STDERR_FILENO, line, sizeof line - 1); // there is no other way to tell
    _exit(exit_code(Fault::device));
}

int main(int argc, char **argv) {
    std::set_terminate(end_without_memory);
    CommandLine program("Compile long-convolution sequence models and run them, offline or as a stream.",
                        "longwave");
    program.set_version_flag("--version", std::string("longwave ") + lw_version());
    program.require_subcommand();
    program.answer(answer_to);
    program.footer(
        "`longwave COMMAND --help` lists the options of a command.\n"
        "Exit codes: 0 success, 1 a check failed, 2 wrong usage, 3 bad input file, 4 device or machine. "
        "Control-C ends every command by its signal, so a shell reports 130.\n"
        "Results go to standard output. Logs and errors go to standard error.");
    const Command commands[] = {add_compile(program),  add_import(program),  add_inspect(program),
                                add_verify(program),   add_run(program),     add_listen(program),
                                add_vad(program),      add_denoise(program), add_eval(program),
                                add_generate(program), add_score(program),   add_bench(program),
                                add_tune(program),     add_devices(program), add_keygen(program),
                                add_sign(program),     add_pack(program),    add_manual(program)};
    if (argc > 1 && std::string(argv[1]) == "import") {
        const Status status = import_program(argv + 2);
        print_text(stderr, "error: %s\n", status.message().c_str());
        return exit_code(status.fault());
    }
    if (argc > 2 && std::string(argv[1]) == "bench" && is_bench_program(argv[2])) {
        const Status status = bench_program(argv[2], argv + 3);
        print_text(stderr, "error: %s\n", status.message().c_str());
        return exit_code(status.fault());
    }
    if (const std::optional<int> code = program.parse(argc, argv)) return ended(*code);
    for (const Command &command : commands) {
        if (!command.flags->parsed()) continue;
        const Status status = command.run();
        if (!status) print_text(stderr, "error: %s\n", status.message().c_str());
        const int code = ended(exit_code(status.fault()));
        end_if_stopped();
        return code;
    }
    return 0;
}

} // namespace
} // namespace longwave::cli

int main(int argc, char **argv) {
#ifdef __GLIBC__
    // What a large matrix took goes back to the system as soon as it is freed.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
    longwave::cli::full_files_are_errors();
    try {
        return longwave::cli::main(argc, argv);
    } catch (const std::bad_alloc &) {
        std::fputs("error: not enough memory\n", stderr); // print_text takes memory
    } catch (const std::exception &error) { // a defect: the libraries report errors through Status
        longwave::cli::print_text(stderr, "error: internal: %s\n", error.what());
    }
    return 4;
}
