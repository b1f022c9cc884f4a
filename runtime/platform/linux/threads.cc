#include "runtime/platform/threads.h"
#include <errno.h>
#include <new>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

namespace longwave::platform {

void *Thread::live(void *memory) {
    const Thread &thread = *static_cast<const Thread *>(memory);
    thread.work_(thread.context_);
    return nullptr;
}

bool Thread::start(void (*work)(void *), void *context, uint64_t stack_bytes) {
    static_assert(sizeof(pthread_t) <= sizeof system_ && alignof(pthread_t) <= 8);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    sigset_t all, before; // signals are for the application's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    work_ = work;
    context_ = context;
    const bool good = pthread_create(new (system_) pthread_t{}, &attributes, live, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return good;
}

void Thread::join() { pthread_join(*reinterpret_cast<pthread_t *>(system_), nullptr); }

static sem_t *semaphore(unsigned char *memory) { return reinterpret_cast<sem_t *>(memory); }

bool Semaphore::open() {
    static_assert(sizeof(sem_t) <= sizeof system_ && alignof(sem_t) <= 8);
    return sem_init(new (system_) sem_t{}, 0, 0) == 0;
}
void Semaphore::close() { sem_destroy(semaphore(system_)); }
void Semaphore::post() { sem_post(semaphore(system_)); }
void Semaphore::wait() {
    while (sem_wait(semaphore(system_)) != 0 && errno == EINTR) {
    }
}

} // namespace longwave::platform
