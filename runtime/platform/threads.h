// Threads, and how they sleep.
#pragma once
#include <cstdint>

namespace longwave::platform {

class Thread {
public:
    // Runs work(context) on a new thread, which gets no signals of the application. `stack_bytes`: of
    // its stack. False: the system gives no more threads.
    bool start(void (*work)(void *context), void *context, uint64_t stack_bytes);
    void join(); // returns when work has returned

private:
    static void *live(void *thread);

    void (*work_)(void *) = nullptr; // the Thread stays where it is while its work runs
    void *context_ = nullptr;
    alignas(8) unsigned char system_[8]{}; // the system's thread
};

// Counts posts, and waits for them.
class Semaphore {
public:
    bool open(); // false: the system gives no more
    void close();
    void post();
    void wait(); // for one post, also across signals

private:
    alignas(8) unsigned char system_[32]{}; // the system's semaphore
};

} // namespace longwave::platform
