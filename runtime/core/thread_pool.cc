#include "runtime/core/thread_pool.h"
#include <new>

namespace longwave::runtime {

bool ThreadPool::start(uint32_t workers, Helper *helpers) {
    helpers_ = helpers;
    if (workers < 2) return true;
    if (!caller_.open()) return false;
    bool good = true;
    for (uint32_t w = 1; good && w < workers; ++w) {
        Helper *helper = new (helpers + w - 1) Helper{};
        helper->thread_pool = this;
        helper->worker = w;
        good = helper->parking.open();
        if (!good) break;
        if (helper->thread.start(live, helper, stack_bytes)) {
            ++n_helpers_;
        } else {
            helper->parking.close();
            good = false;
        }
    }
    if (good) return true;
    if (n_helpers_ == 0) caller_.close();
    stop();
    return false;
}

void ThreadPool::stop() {
    if (n_helpers_ == 0) return;
    run(nullptr, nullptr);
    for (uint32_t h = 0; h < n_helpers_; ++h) {
        helpers_[h].thread.join();
        helpers_[h].parking.close();
    }
    caller_.close();
    n_helpers_ = 0;
}

void ThreadPool::run(Work work, void *context) {
    work_ = work;
    context_ = context;
    busy_.store(n_helpers_);
    call_.fetch_add(1); // publishes the three above
    for (uint32_t h = 0; h < n_helpers_; ++h) helpers_[h].parking.wake();
    if (work) work(context, 0);
    if (n_helpers_ > 0) caller_.wait([this] { return busy_.load() == 0; });
}

void ThreadPool::live(void *memory) {
    Helper &helper = *static_cast<Helper *>(memory);
    ThreadPool &thread_pool = *helper.thread_pool;
    for (uint64_t seen = 0;;) {
        helper.parking.wait([&] { return thread_pool.call_.load() != seen; });
        ++seen; // the caller starts nothing new before this helper is done
        const Work work = thread_pool.work_;
        if (work) work(thread_pool.context_, helper.worker);
        if (thread_pool.busy_.fetch_sub(1) == 1) thread_pool.caller_.wake();
        if (!work) return;
    }
}

} // namespace longwave::runtime
