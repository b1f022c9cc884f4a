// longwave-kgen: the kernel compiler.
//     longwave-kgen --spec JSON --target NAME [--symbol NAME] -o OUT.o|OUT.ll|OUT.spv  compiles one
//     longwave-kgen --query IN.json -o OUT.json        describes many kernels (schedules/halide/query.h)
//     longwave-kgen --versions                         prints the versions (schedules/halide/versions.h)
//     longwave-kgen --stay                             answers requests (compiler/base/process.h)
// Compiling writes the object file, LLVM assembly or SPIR-V module, and its signature next to it
// (OUT.json). One process compiles one kernel: names, and therefore bytes, of Halide's output
// depend on what the same process compiled before. So with --stay each request has a child of its own.
#include "schedules/halide/fault.h"
#include "schedules/halide/kernel.h"
#include "schedules/halide/query.h"
#include "schedules/halide/versions.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace longwave;

namespace {

constexpr size_t max_packet = 1 << 20; // bytes of a request; a socket takes fewer

struct Options {
    std::string spec, target, query, symbol = "kernel", out, statement, structures;
};

int usage(const std::string &problem) {
    std::cerr << "longwave-kgen: " << problem
              << "\nusage: longwave-kgen --spec JSON --target NAME [--symbol NAME] -o OUT.o|OUT.ll|OUT.spv "
                 "[--statement OUT.stmt] [--structures FILE.json]\n"
                 "       longwave-kgen --query IN.json -o OUT.json [--structures FILE.json]\n"
                 "       longwave-kgen --versions\n"
                 "       longwave-kgen --stay\n";
    return 2;
}

// Returns an empty text or what is wrong.
std::string parse(int argc, char **argv, Options &options) {
    for (int i = 1; i < argc; i++) {
        const std::string flag = argv[i];
        std::string *value = flag == "--spec"         ? &options.spec
                             : flag == "--target"     ? &options.target
                             : flag == "--query"      ? &options.query
                             : flag == "--symbol"     ? &options.symbol
                             : flag == "-o"           ? &options.out
                             : flag == "--statement"  ? &options.statement
                             : flag == "--structures" ? &options.structures
                                                      : nullptr;
        if (!value) return "unknown option '" + flag + "'";
        if (++i == argc) return "option '" + flag + "' needs a value";
        *value = argv[i];
    }
    if (!options.query.empty()) {
        if (!options.spec.empty() || !options.target.empty() || !options.statement.empty())
            return "--query goes without --spec, --target and --statement";
        return options.out.empty() ? "--query and -o are needed" : "";
    }
    if (options.spec.empty() || options.target.empty() || options.out.empty())
        return "--spec, --target and -o are needed";
    const std::string suffix = targets::kernel_suffix(options.target);
    if (options.out.size() <= suffix.size() || !options.out.ends_with(suffix))
        return "the output must be named *" + suffix;
    return {};
}

nlohmann::json read_json(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw schedules::SpecError("cannot read " + path);
    return nlohmann::json::parse(file);
}

void write_line(const std::string &path, const std::string &text) {
    std::ofstream file(path, std::ios::binary);
    if (!(file << text << '\n' << std::flush)) throw schedules::SpecError("cannot write " + path);
}

void run(const Options &options) {
    const nlohmann::json structures =
        options.structures.empty() ? nlohmann::json() : read_json(options.structures);
    if (!options.query.empty())
        return write_line(options.out,
                          schedules::answer_queries(read_json(options.query), structures).dump());
    const schedules::BuiltKernel kernel =
        schedules::build_kernel(nlohmann::json::parse(options.spec), options.target, structures);
    const std::string signature =
        schedules::compile_kernel(kernel, {options.symbol, options.out, options.statement});
    write_line(options.out.substr(0, options.out.rfind('.')) + ".json", signature);
}

void end_with(std::string_view line) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    _exit(1);
}

// An allocation that fails may leave LLVM in an endless loop. So the first one ends the program, where
// this program sees it. Elsewhere time ends it: a kernel takes seconds.
void end_after_faults() {
    std::set_new_handler([] { end_with("longwave-kgen: out of memory\n"); });
    std::signal(SIGXCPU, [](int) { end_with("longwave-kgen: it found no end within its CPU time\n"); });
    constexpr rlim_t seconds = 300;
    rlimit limit{};
    if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur < seconds) return;
    limit.rlim_cur = std::min(limit.rlim_max, seconds);
    setrlimit(RLIMIT_CPU, &limit);
}

// One run of the program.
int run_program(int argc, char **argv) {
    end_after_faults();
    if (argc == 2 && std::string(argv[1]) == "--versions") {
        std::cout << schedules::versions().dump() << std::endl;
        return std::cout ? 0 : 1;
    }
    Options options;
    if (const std::string problem = parse(argc, argv, options); !problem.empty()) return usage(problem);
    const std::string fault = schedules::fault_of([&] { run(options); });
    if (fault.empty()) return 0;
    std::cerr << "longwave-kgen: " << fault << '\n';
    return 1;
}

// Runs the program for the arguments in a child process. Returns its exit code.
int32_t run_in_child(char *program, std::string_view arguments) {
    const pid_t child = fork();
    if (child < 0) {
        std::cerr << "longwave-kgen: cannot start a process: " << std::strerror(errno) << '\n';
        return 1;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // whoever ends this program means the child
        std::string text(arguments);
        std::vector<char *> argv = {program};
        for (size_t i = 0; i < text.size(); i += std::strlen(&text[i]) + 1) argv.push_back(&text[i]);
        const int code = run_program(static_cast<int>(argv.size()), argv.data());
        std::cout.flush();
        _exit(code);
    }
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

int stay(char *program) {
    std::vector<char> packet(max_packet);
    for (;;) {
        const ssize_t bytes = recv(STDIN_FILENO, packet.data(), packet.size(), 0);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes <= 0) return bytes == 0 ? 0 : 1;
        const int32_t code = run_in_child(program, {packet.data(), static_cast<size_t>(bytes)});
        if (send(STDIN_FILENO, &code, sizeof code, MSG_NOSIGNAL) != sizeof code) return 1;
    }
}

} // namespace

int main(int argc, char **argv) {
    const bool stays = argc == 2 && std::string_view(argv[1]) == "--stay";
    return stays ? stay(argv[0]) : run_program(argc, argv);
}
