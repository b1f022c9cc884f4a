// A lock for threads that may wait for the device while they hold it. Nothing for real-time threads
// uses it.
#pragma once
#include <pthread.h>

namespace longwave::runtime::vulkan {

class Lock {
public:
    Lock() = default;
    ~Lock() { pthread_mutex_destroy(&mutex_); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    void take() { pthread_mutex_lock(&mutex_); }
    void give() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

// Holds a lock until the end of the scope.
class Hold {
public:
    explicit Hold(Lock &lock) : lock_(lock) { lock_.take(); }
    ~Hold() { lock_.give(); }
    Hold(const Hold &) = delete;
    Hold &operator=(const Hold &) = delete;

private:
    Lock &lock_;
};

} // namespace longwave::runtime::vulkan
