#include "compiler/base/process.h"
#include "compiler/base/process_cleanup.h"
#include "formats/package/file_bytes.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace longwave::compiler {

constexpr size_t max_output = 64 << 10; // bytes that are kept of each output
constexpr uint64_t max_file = 1 << 30;  // bytes

// The output of a program, kept in memory: the program may report a full disk.
class ProgramLog {
public:
    ProgramLog() : file_(memfd_create("longwave-log", MFD_CLOEXEC)) {}
    ~ProgramLog() {
        if (file_ >= 0) close(file_);
    }
    ProgramLog(const ProgramLog &) = delete;
    ProgramLog &operator=(const ProgramLog &) = delete;
    int file() const { return file_; }
    // Programs that hold the file write from its start again. False: the system refuses.
    bool clear() { return ftruncate(file_, 0) == 0 && lseek(file_, 0, SEEK_SET) == 0; }
    Expected<std::string> text(const std::string &program) const {
        std::string text;
        for (char part[4096]; text.size() < max_output;) {
            const ssize_t n = pread(file_, part, sizeof part, static_cast<off_t>(text.size()));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0)
                return Status::device(
                    fmt::format("the output of {} cannot be read: {}", program, std::strerror(errno)));
            if (n == 0) break;
            text.append(part, static_cast<size_t>(n));
        }
        struct stat file;
        struct rlimit most;
        const bool limited = fstat(file_, &file) == 0 && getrlimit(RLIMIT_FSIZE, &most) == 0;
        if (limited && static_cast<rlim_t>(file.st_size) >= most.rlim_cur)
            return Status::device(fmt::format(
                "{} may write files of at most {} bytes, and its output is longer; raise the limit of "
                "this process (ulimit -f)",
                program, static_cast<uint64_t>(most.rlim_cur)));
        while (!text.empty() && text.back() == '\n') text.pop_back();
        return text;
    }

private:
    int file_;
};

namespace {

// The three files of a program. `in` -1: /dev/null.
struct Files {
    int in, out, err;
};

// Starts the program; errno's value when it cannot be. `group`: it leads a process group of its
// own.
int spawn(const std::vector<std::string> &arguments, const Files &files, bool group, pid_t *pid) {
    std::vector<char *> argv;
    argv.reserve(arguments.size() + 1);
    for (const auto &argument : arguments) argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int error = files.in < 0 ? posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
                             : posix_spawn_file_actions_adddup2(&actions, files.in, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, files.out, 1);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, files.err, 2);
    // The program must not inherit the signals that this thread blocks.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | (group ? POSIX_SPAWN_SETPGROUP : 0)));
    if (error == 0) error = posix_spawnp(pid, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Whether the program ended before its time was over.
bool ends_within(pid_t pid, double seconds) {
    // Not the C library's function: glibc 2.36 declares it without C linkage.
    const int file = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (file < 0) return false;
    const double end = now() + seconds;
    int ready = 0;
    for (double left = seconds; ready == 0 && left > 0; left = end - now()) {
        pollfd ended{file, POLLIN, 0};
        ready = poll(&ended, 1, static_cast<int>(1000 * left) + 1);
        if (ready < 0 && errno == EINTR) ready = 0;
    }
    close(file);
    return ready > 0;
}

// Waits for the end of a program. False: errno says why it cannot.
bool wait_for(pid_t pid, int *state) {
    siginfo_t ended; // its number stays taken until waitpid(): a signal cannot reach another program
    while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    unfinished::end_program(pid);
    pid_t waited;
    while ((waited = waitpid(pid, state, 0)) < 0 && errno == EINTR) {
    }
    return waited == pid;
}

// `seconds` 0: no limit, and no process group.
Expected<ProcessResult> run(const std::vector<std::string> &arguments, double seconds, const ProgramLog &out,
                            const ProgramLog &err) {
    if (out.file() < 0 || err.file() < 0)
        return Status::device(
            fmt::format("no memory for the output of {}: {}", arguments[0], std::strerror(errno)));
    const bool limited = seconds > 0;
    pid_t pid = 0;
    const int error = unfinished::start_program(
        [&] { return spawn(arguments, {-1, out.file(), err.file()}, limited, &pid); }, pid);
    if (error != 0)
        return Status::device(fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)));
    ProcessResult result;
    if (limited) {
        result.timed_out = !ends_within(pid, seconds);
        kill(-pid, SIGKILL); // the group: also the programs that it started
    }
    int state = 0;
    if (!wait_for(pid, &state))
        return Status::device(fmt::format("cannot wait for {}: {}", arguments[0], std::strerror(errno)));
    result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    LW_ASSIGN(result.output, out.text(arguments[0]));
    return result;
}

} // namespace

Expected<ProcessResult> run_process(const std::vector<std::string> &arguments) {
    const ProgramLog log;
    return run(arguments, 0, log, log);
}

Expected<ProcessResult> run_process_for(const std::vector<std::string> &arguments, double seconds) {
    const ProgramLog out, err;
    LW_ASSIGN(ProcessResult result, run(arguments, seconds, out, err));
    LW_ASSIGN(result.error, err.text(arguments[0]));
    return result;
}

struct StayingProgram::Running {
    ~Running() {
        close_socket();
        int state;
        if (pid > 0) wait_for(pid, &state);
    }
    // Nothing more is asked: the program ends.
    void close_socket() {
        if (socket >= 0) close(socket);
        socket = -1;
    }
    std::string name;
    ProgramLog words;
    int socket = -1; // our end
    pid_t pid = -1;
};

StayingProgram::StayingProgram(std::unique_ptr<Running> running) : running_(std::move(running)) {}
StayingProgram::~StayingProgram() = default;

Expected<std::unique_ptr<StayingProgram>> StayingProgram::start(const std::vector<std::string> &arguments) {
    auto running = std::make_unique<Running>();
    running->name = arguments[0];
    int ends[2];
    if (running->words.file() < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return Status::device(fmt::format("cannot talk to {}: {}", arguments[0], std::strerror(errno)));
    running->socket = ends[0];
    const int words = running->words.file();
    const int error = unfinished::start_program(
        [&] { return spawn(arguments, {ends[1], words, words}, false, &running->pid); }, running->pid);
    close(ends[1]);
    if (error != 0) {
        running->pid = -1;
        return Status::device(fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)));
    }
    return std::unique_ptr<StayingProgram>(new StayingProgram(std::move(running)));
}

std::optional<ProcessResult> StayingProgram::ask(const std::vector<std::string> &arguments) {
    std::string packet;
    for (const std::string &argument : arguments) packet.append(argument.c_str(), argument.size() + 1);
    const auto answered = [&](auto transfer) { // as many bytes as there are
        ssize_t bytes;
        do bytes = transfer();
        while (bytes < 0 && errno == EINTR);
        return bytes;
    };
    const int socket = running_->socket;
    int32_t code = 0;
    if (socket >= 0 && running_->words.clear() &&
        answered([&] { return send(socket, packet.data(), packet.size(), MSG_NOSIGNAL); }) ==
            static_cast<ssize_t>(packet.size()) &&
        answered([&] { return recv(socket, &code, sizeof code, 0); }) == sizeof code) {
        if (auto words = running_->words.text(running_->name))
            return ProcessResult{.exit_code = code, .output = *std::move(words)};
    }
    running_->close_socket();
    return std::nullopt;
}

Expected<std::vector<uint8_t>> read_bytes(const std::filesystem::path &path) {
    auto bytes = package::read_file(path.string(), max_file);
    if (!bytes) return Status::device(bytes.status().message());
    return bytes;
}

} // namespace longwave::compiler
