#include "runtime/core/thread_pool.h"
#include <cerrno>
#include <csignal>
#include <new>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace longwave::runtime {

void Parking::pause() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

void Parking::sleep() {
    while (sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
}

bool ThreadPool::start(uint32_t workers, Helper *helpers) {
    helpers_ = helpers;
    if (workers < 2) return true;
    if (!caller_.open()) return false;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        caller_.close();
        return false;
    }
    pthread_attr_setstacksize(&attributes, stack_bytes);
    sigset_t all, before; // signals are for the application's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool good = true;
    for (uint32_t w = 1; good && w < workers; ++w) {
        Helper *helper = new (helpers + w - 1) Helper{};
        helper->thread_pool = this;
        helper->worker = w;
        good = helper->parking.open();
        if (!good) break;
        if (pthread_create(&helper->thread, &attributes, live, helper) == 0) {
            ++n_helpers_;
        } else {
            helper->parking.close();
            good = false;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (good) return true;
    if (n_helpers_ == 0) caller_.close();
    stop();
    return false;
}

void ThreadPool::stop() {
    if (n_helpers_ == 0) return;
    run(nullptr, nullptr);
    for (uint32_t h = 0; h < n_helpers_; ++h) {
        pthread_join(helpers_[h].thread, nullptr);
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

void *ThreadPool::live(void *memory) {
    Helper &helper = *static_cast<Helper *>(memory);
    ThreadPool &thread_pool = *helper.thread_pool;
    for (uint64_t seen = 0;;) {
        helper.parking.wait([&] { return thread_pool.call_.load() != seen; });
        ++seen; // the caller starts nothing new before this helper is done
        const Work work = thread_pool.work_;
        if (work) work(thread_pool.context_, helper.worker);
        if (thread_pool.busy_.fetch_sub(1) == 1) thread_pool.caller_.wake();
        if (!work) return nullptr;
    }
}

} // namespace longwave::runtime
