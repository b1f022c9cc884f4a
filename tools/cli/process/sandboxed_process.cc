#include "tools/cli/process/sandboxed_process.h"
#include "tools/cli/output/text.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace longwave::cli {
namespace {

// What a program prints, kept in memory.
class Pages {
public:
    Pages() : file_(memfd_create("longwave-candidate", MFD_CLOEXEC)) {}
    ~Pages() {
        if (file_ >= 0) close(file_);
    }
    Pages(const Pages &) = delete;
    Pages &operator=(const Pages &) = delete;
    int file() const { return file_; }
    std::string text() const {
        std::string text(64 << 10, '\0');
        const ssize_t n = pread(file_, text.data(), text.size(), 0);
        text.resize(n > 0 ? static_cast<size_t>(n) : 0);
        return text;
    }

private:
    int file_;
};

int start(const std::vector<std::string> &arguments, const Pages &out, const Pages &err, pid_t *pid) {
    std::vector<char *> argv;
    argv.reserve(arguments.size() + 1);
    for (const auto &argument : arguments) argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.file(), 1);
    posix_spawn_file_actions_adddup2(&actions, err.file(), 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error = posix_spawn(pid, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

// Whether it ended by itself.
bool wait_for(pid_t pid, double seconds) {
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

std::string last_line(const std::string &text) {
    const auto lines = split(text, '\n');
    return lines.empty() ? "" : printable(lines.back().substr(0, 300));
}

} // namespace

Expected<Outcome> run_candidate(const std::vector<std::string> &arguments, double seconds) {
    const Pages out, err;
    pid_t pid = 0;
    const int error = out.file() < 0 || err.file() < 0 ? ENOMEM : start(arguments, out, err, &pid);
    if (error != 0) return Status::device("cannot run " + arguments[0] + ": " + std::strerror(error));
    const bool in_time = wait_for(pid, seconds);
    kill(-pid, SIGKILL); // all of its group: what it started as well
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    if (!in_time) return Outcome{"", format("not ready after %g s", seconds)};
    if (WIFSIGNALED(state)) return Outcome{"", format("ended by signal %d", WTERMSIG(state))};
    if (WEXITSTATUS(state) != 0) {
        const std::string line = last_line(err.text());
        return Outcome{"", line.empty() ? format("exit code %d", WEXITSTATUS(state)) : line};
    }
    return Outcome{out.text(), ""};
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGTERM); }

} // namespace longwave::cli
