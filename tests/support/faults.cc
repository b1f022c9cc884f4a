#include "tests/support/faults.h"
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::test::faults {
namespace {

struct State {
    bool on = false;
    long count[calls] = {};
    long at[calls];
    int error[calls] = {};
    bool for_good[calls] = {};
    long failed = 0;
    long live = 0;
};
thread_local State state;

bool fails(Call call) {
    if (!state.on) return false;
    const long k = state.count[call]++;
    const bool now =
        state.at[call] >= 0 && (k == state.at[call] || (state.for_good[call] && k > state.at[call]));
    if (!now) return false;
    ++state.failed;
    errno = state.error[call];
    return true;
}

void *counted(void *memory) {
    if (state.on && memory) ++state.live;
    return memory;
}

template <class F> F *next(const char *name) { return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name)); }

} // namespace

Scope::Scope() {
    state = State{};
    for (long &at : state.at) at = -1;
    state.on = true;
}
Scope::~Scope() { state.on = false; }
void Scope::fail(Call call, long k, int error, bool for_good) {
    state.at[call] = k;
    state.error[call] = error;
    state.for_good[call] = for_good;
}
long Scope::count(Call call) const { return state.count[call]; }
long Scope::failed() const { return state.failed; }
long Scope::live() const { return state.live; }

} // namespace longwave::test::faults

using namespace longwave::test::faults;

#pragma GCC visibility push(default) // the shared runtime must find them
// glibc's own names let these work before dlsym does, which itself allocates.
extern "C" {
void *__libc_malloc(size_t);
void __libc_free(void *);
void *__libc_memalign(size_t, size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) { return fails(allocate) ? nullptr : counted(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { return fails(allocate) ? nullptr : counted(__libc_calloc(n, size)); }
void *realloc(void *memory, size_t size) {
    if (fails(allocate)) return nullptr;
    void *moved = __libc_realloc(memory, size);
    return memory ? moved : counted(moved);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return fails(allocate) ? nullptr : counted(__libc_memalign(alignment, size));
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    if (fails(allocate)) return ENOMEM;
    *out = counted(__libc_memalign(alignment, size));
    return *out ? 0 : ENOMEM;
}
void free(void *memory) {
    (void)fails(release);
    if (state.on && memory) --state.live;
    __libc_free(memory);
}
int stat(const char *path, struct stat *info) {
    if (fails(Call::look)) return -1;
    static const auto real = next<int(const char *, struct stat *)>("stat");
    return real(path, info);
}
int pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    if (fails(Call::thread)) return EAGAIN;
    static const auto real =
        next<int(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)>("pthread_create");
    return real(made, attributes, start, argument);
}
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    (void)fails(Call::lock);
    static const auto real = next<int(pthread_mutex_t *)>("pthread_mutex_lock");
    return real(mutex);
}
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    if (fails(Call::map)) return MAP_FAILED;
    static const auto real = next<void *(void *, size_t, int, int, int, off_t)>("mmap");
    return real(at, size, protection, flags, file, offset);
}
int mprotect(void *at, size_t size, int protection) {
    if (fails(protect)) return -1;
    static const auto real = next<int(void *, size_t, int)>("mprotect");
    return real(at, size, protection);
}
int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? static_cast<mode_t>(va_arg(rest, int)) : 0;
    va_end(rest);
    if (fails(Call::open)) return -1;
    static const auto real = next<int(const char *, int, ...)>("open");
    return real(path, flags, mode);
}
ssize_t read(int file, void *to, size_t size) {
    if (fails(Call::read)) return -1;
    static const auto real = next<ssize_t(int, void *, size_t)>("read");
    return real(file, to, size);
}
ssize_t write(int file, const void *from, size_t size) {
    if (fails(Call::write)) return -1;
    static const auto real = next<ssize_t(int, const void *, size_t)>("write");
    return real(file, from,
                state.on && size > 1000 ? 1000 : size); // while a Scope lives every long write is a short one
}
int fsync(int file) {
    if (fails(Call::sync)) return -1;
    static const auto real = next<int(int)>("fsync");
    return real(file);
}
int rename(const char *from, const char *to) {
    if (fails(rename_file)) return -1;
    static const auto real = next<int(const char *, const char *)>("rename");
    return real(from, to);
}
}
