#include "tools/cli/process/interruption.h"
#include "compiler/driver/compile.h"
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace longwave::cli {
namespace {

// All signals whose default action ends a program, but for faults.
constexpr int all_ending[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,   SIGPIPE, SIGALRM, SIGUSR1,  SIGUSR2,
                              SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM, SIGIO,   SIGPWR,  SIGSTKFLT};

// Those that would end the program; not the ones that it was started to ignore (nohup).
sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : all_ending) {
        struct sigaction action = {};
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) sigaddset(&set, signal);
    }
    return set;
}

void end_by(int signal) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
}

} // namespace

Interruptible::Interruptible() : signals_(ending_signals()) {
    std::signal(SIGCHLD, SIG_DFL); // ignored by some who start programs; then nobody learns how a child ended
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    signal_file_ = signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
    try {
        if (signal_file_ >= 0 && pipe2(stop_, O_CLOEXEC) == 0) watcher_ = std::thread([this] { watch(); });
    } catch (const std::exception &) { // the system gives no more threads, or no memory for one
    }
    // Without a watcher a signal ends the program at once, as without this object.
    if (!watcher_.joinable()) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Interruptible::~Interruptible() {
    if (stop_[1] >= 0) close(stop_[1]);
    if (watcher_.joinable()) {
        watcher_.join();
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    for (const int file : {signal_file_, stop_[0]})
        if (file >= 0) close(file);
}

void Interruptible::watch() const {
    pollfd files[] = {{signal_file_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
    for (;;) {
        if (poll(files, 2, -1) < 0 && errno == EINTR) continue;
        signalfd_siginfo info;
        if (read(signal_file_, &info, sizeof info) == sizeof info) {
            compiler::abandon_compiles();
            end_by(static_cast<int>(info.ssi_signo));
        }
        if (files[1].revents) return;
    }
}

std::atomic<bool> stopped{false};
static std::atomic<int> stopping_signal{0};

void full_files_are_errors() { std::signal(SIGXFSZ, SIG_IGN); }

void stop_on_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int signal) {
        stopping_signal = signal;
        stopped = true;
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND); // without SA_RESTART: a blocked read returns
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

void end_if_stopped() {
    if (stopped) end_by(stopping_signal);
}

Uninterrupted::Uninterrupted() {
    const sigset_t signals = ending_signals();
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

Uninterrupted::~Uninterrupted() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

} // namespace longwave::cli
