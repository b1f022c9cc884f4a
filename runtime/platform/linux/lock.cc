#include "runtime/platform/lock.h"
#include <new>
#include <pthread.h>

namespace longwave::platform {

static pthread_mutex_t *mutex(unsigned char *memory) { return reinterpret_cast<pthread_mutex_t *>(memory); }

Lock::Lock() {
    static_assert(sizeof(pthread_mutex_t) <= sizeof system_ && alignof(pthread_mutex_t) <= 8);
    new (system_) pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
}
Lock::~Lock() { pthread_mutex_destroy(mutex(system_)); }
void Lock::take() { pthread_mutex_lock(mutex(system_)); }
void Lock::give() { pthread_mutex_unlock(mutex(system_)); }

} // namespace longwave::platform
