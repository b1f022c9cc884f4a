#include "compiler/codegen/process.h"
#include "compiler/codegen/process_cleanup.h"
#include "formats/package/file_bytes.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace longwave::compiler {

namespace {

constexpr size_t max_output = 64 << 10; // bytes of what a program says that are kept
constexpr uint64_t max_file = 1 << 30;  // bytes

// What the program says goes to memory: a full disk is among the things it may have to tell.
class Log {
public:
    Log() : file_(memfd_create("longwave-log", MFD_CLOEXEC)) {}
    ~Log() {
        if (file_ >= 0) close(file_);
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;
    int file() const { return file_; }
    std::string text() const {
        std::string text(max_output, '\0');
        const ssize_t n = pread(file_, text.data(), text.size(), 0);
        text.resize(n > 0 ? static_cast<size_t>(n) : 0);
        while (!text.empty() && text.back() == '\n') text.pop_back();
        return text;
    }

private:
    int file_;
};

// Starts the program; errno's value when it cannot be.
int spawn(const std::vector<std::string> &arguments, int log, pid_t *pid) {
    std::vector<char *> argv;
    argv.reserve(arguments.size() + 1);
    for (const auto &argument : arguments) argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, log, 1);
    posix_spawn_file_actions_adddup2(&actions, log, 2);
    // signals that this thread keeps from itself are none of the program's business
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawnp(pid, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

} // namespace

Expected<ProcessResult> run_process(const std::vector<std::string> &arguments) {
    const Log log;
    if (log.file() < 0)
        return Status::device(
            fmt::format("no memory for the output of {}: {}", arguments[0], std::strerror(errno)));
    pid_t pid = 0;
    int error = unfinished::start_program([&] { return spawn(arguments, log.file(), &pid); }, pid);
    if (error != 0)
        return Status::device(fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)));
    siginfo_t ended; // it keeps its number until it is taken off the list: nobody else may be killed by it
    while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    unfinished::end_program(pid);
    int state = 0;
    pid_t waited;
    while ((waited = waitpid(pid, &state, 0)) < 0 && errno == EINTR) {
    }
    if (waited != pid)
        return Status::device(fmt::format("cannot wait for {}: {}", arguments[0], std::strerror(errno)));
    return ProcessResult{WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state), log.text()};
}

Expected<std::vector<uint8_t>> read_bytes(const std::filesystem::path &path) {
    auto bytes = package::read_file(path.string(), max_file);
    if (!bytes) return Status::device(bytes.status().message());
    return bytes;
}

} // namespace longwave::compiler
