// Signals that end the program: Control-C, a closed terminal, `kill`, a used-up CPU time. The
// program ends by the signal, after it has removed temporary files and ended the programs it
// started.
#pragma once
#include <atomic>
#include <csignal>
#include <thread>

namespace longwave::cli {

// During its lifetime, a signal that ends the program first ends the compilation: it kills the
// started programs and removes the temporary folders. Create it before the threads that compile.
class Interruptible {
public:
    Interruptible();
    // A pending signal ends the program here, before the program reports errors that it caused.
    ~Interruptible();
    Interruptible(const Interruptible &) = delete;
    Interruptible &operator=(const Interruptible &) = delete;

private:
    void watch() const;
    sigset_t signals_ = {}, before_ = {};
    int signal_file_ = -1;
    int stop_[2] = {-1, -1}; // a pipe: the watcher ends when the writing end is closed, which cannot fail
    std::thread watcher_;
};

// During its lifetime such a signal waits, because a file is being replaced. For programs with one
// thread.
class Uninterrupted {
public:
    Uninterrupted();
    ~Uninterrupted();
    Uninterrupted(const Uninterrupted &) = delete;
    Uninterrupted &operator=(const Uninterrupted &) = delete;

private:
    sigset_t before_ = {};
};

// From then on, a write beyond the limit of file sizes fails like one to a full disk. Without this
// it ends the program by a signal. Started programs inherit it.
void full_files_are_errors();

// Set by the first Control-C or `kill` after stop_on_signals(). The input of the command then ends,
// and the command writes its last lines. A second signal ends the program.
extern std::atomic<bool> stopped;
void stop_on_signals();
// Ends the program by the signal that stopped the command, if any. So all commands have one exit
// code for Control-C: a shell sees 130.
void end_if_stopped();

} // namespace longwave::cli
