// Threads that help one caller with an offline run, asleep between runs.
#pragma once
#include <atomic>
#include <cstdint>
#ifdef LW_FREESTANDING

namespace longwave::runtime {

// Where there are no threads: the caller alone.
class ThreadPool {
public:
    using Work = void (*)(void *context, uint32_t worker);
    struct Helper {};
    static constexpr uint32_t most = 1;
    static constexpr uint64_t stack_bytes = 0;

    bool start(uint32_t workers, Helper *) { return workers < 2; }
    void stop() {}
    uint32_t workers() const { return 1; }
    void run(Work work, void *context) { work(context, 0); }
};

} // namespace longwave::runtime

#else
#include "runtime/platform/cpu.h"
#include "runtime/platform/threads.h"

namespace longwave::runtime {

// Waits for something another thread will do: a moment awake, then asleep.
class Parking {
public:
    bool open() { return semaphore_.open(); }
    void close() { semaphore_.close(); }

    template <class Ready> void wait(Ready ready) {
        for (int i = 0; i < spins; ++i) {
            if (ready()) return;
            platform::pause();
        }
        for (;;) {
            // Sequentially consistent, as wake's exchange is: one of the two sees the other.
            parked_.store(true);
            if (ready()) {
                if (parked_.exchange(false)) return;
                semaphore_.wait(); // someone took the flag: his post is on its way, not for the next wait
                return;
            }
            semaphore_.wait();
            if (ready()) return;
        }
    }
    // After the store that makes `ready` true.
    void wake() {
        if (parked_.exchange(false)) semaphore_.post();
    }

private:
    static constexpr int spins = 2000; // some tens of microseconds: what lies between two steps of a run

    std::atomic<bool> parked_{false};
    platform::Semaphore semaphore_;
};

class ThreadPool {
public:
    using Work = void (*)(void *context, uint32_t worker);
    struct Helper {
        ThreadPool *thread_pool = nullptr;
        platform::Thread thread;
        Parking parking;
        uint32_t worker = 0;
    };
    static constexpr uint32_t most = 256;             // workers, the caller among them
    static constexpr uint64_t stack_bytes = 1u << 18; // of each helper: kernels take their scratch elsewhere

    ThreadPool() = default;
    ThreadPool(const ThreadPool &) = delete;
    // Starts workers − 1 threads; `helpers` is memory for as many. False: the system gives no more
    // (none is left running).
    bool start(uint32_t workers, Helper *helpers);
    void stop();
    uint32_t workers() const { return n_helpers_ + 1; }

    // work(context, w) on the calling thread (w = 0) and on every helper (w = 1 …); returns when
    // all have returned.
    void run(Work work, void *context);

private:
    static void live(void *helper);

    Helper *helpers_ = nullptr;
    uint32_t n_helpers_ = 0;
    Work work_ = nullptr; // null: go home
    void *context_ = nullptr;
    std::atomic<uint64_t> call_{0}; // counts run()s
    std::atomic<uint32_t> busy_{0};
    Parking caller_;
};

} // namespace longwave::runtime
#endif
