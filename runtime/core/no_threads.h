// The thread pool where there are no threads: the caller alone.
#pragma once
#include <atomic>
#include <cstdint>

namespace longwave::runtime {

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
