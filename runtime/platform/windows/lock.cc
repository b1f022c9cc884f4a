#include "runtime/platform/lock.h"
#include "runtime/platform/windows/system.h"
#include <new>

namespace longwave::platform {

static SRWLOCK *lock(unsigned char *memory) { return reinterpret_cast<SRWLOCK *>(memory); }

Lock::Lock() {
    static_assert(sizeof(SRWLOCK) <= sizeof system_ && alignof(SRWLOCK) <= 8);
    new (system_) SRWLOCK(SRWLOCK_INIT);
}
Lock::~Lock() = default; // the system keeps nothing of it
void Lock::take() { AcquireSRWLockExclusive(lock(system_)); }
void Lock::give() { ReleaseSRWLockExclusive(lock(system_)); }

} // namespace longwave::platform
