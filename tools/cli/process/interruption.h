// Control-C, a closed terminal, `kill`: the program ends by the signal, as it should, but leaves nothing
// behind.
#pragma once
#include <atomic>
#include <csignal>
#include <thread>

namespace longwave::cli {

// While one lives, a signal that ends the program first ends what a compile has started: its programs are
// killed, its temporary folders removed. It must be made before the threads that compile.
class Interruptible {
public:
    Interruptible();
    ~Interruptible(); // a signal that came before is obeyed here: what it made fail is not reported
    Interruptible(const Interruptible &) = delete;
    Interruptible &operator=(const Interruptible &) = delete;

private:
    void watch() const;
    sigset_t signals_ = {}, before_ = {};
    int signal_file_ = -1, stop_file_ = -1;
    std::thread watcher_;
};

// While one lives, such a signal waits: a file is being put in its place. For programs that have no other
// thread by then.
class Uninterrupted {
public:
    Uninterrupted();
    ~Uninterrupted();
    Uninterrupted(const Uninterrupted &) = delete;
    Uninterrupted &operator=(const Uninterrupted &) = delete;

private:
    sigset_t before_ = {};
};

// Set by the first Control-C or `kill` after stop_on_signals(): the input of a verb ends there, not the verb,
// whose last lines are still written. A second one ends the program.
extern std::atomic<bool> stopped;
void stop_on_signals();

} // namespace longwave::cli
