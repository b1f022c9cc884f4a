// A lock for threads that may wait for the device while they hold it. Nothing for real-time threads
// uses it.
#pragma once

namespace longwave::platform {

class Lock {
public:
    Lock();
    ~Lock();
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    void take();
    void give();

private:
    alignas(8) unsigned char system_[64]; // the system's lock
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

} // namespace longwave::platform
