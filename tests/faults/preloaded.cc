// A library for LD_PRELOAD: one allocation of a program fails. From main() on it counts, and the
// program's own children run without it.
//   LONGWAVE_FAULT_ALLOCATION=K[+]  the K-th from 0 gives no memory; with + those behind it as well
//   LONGWAVE_FAULT_COUNT=FILE       at the end FILE holds the number of allocations
// The same main() tells a tracer (failing_calls.cc) where the program begins.
#include "tests/faults/begin.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

std::atomic<bool> counting{false};
std::atomic<long> count{0};
long failing = -1;
bool for_good = false;
int count_file = -1;
int (*real_main)(int, char **, char **);

bool fails() {
    if (!counting.load(std::memory_order_relaxed)) return false;
    const long k = count++;
    if (failing < 0 || k < failing || (k > failing && !for_good)) return false;
    errno = ENOMEM;
    return true;
}

// Straight to the file: stdio would allocate.
void tell() {
    counting = false;
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld\n", count.load());
    if (count_file >= 0 && write(count_file, text, static_cast<size_t>(n)) != n) _exit(99);
}

int counted_main(int argc, char **argv, char **environment) {
    if (const char *file = getenv("LONGWAVE_FAULT_COUNT")) {
        count_file = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        atexit(tell);
    }
    if (const char *which = getenv("LONGWAVE_FAULT_ALLOCATION")) {
        char *end = nullptr;
        failing = strtol(which, &end, 10);
        for_good = *end == '+';
    }
    for (const char *name : {"LD_PRELOAD", "LONGWAVE_FAULT_COUNT", "LONGWAVE_FAULT_ALLOCATION"})
        unsetenv(name);
    prctl(longwave::test::program_begins, 0, 0, 0, 0);
    counting = true;
    return real_main(argc, argv, environment);
}

} // namespace

#pragma GCC visibility push(default)
// glibc's own names work before dlsym does, which itself allocates.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_memalign(size_t, size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) { return fails() ? nullptr : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? nullptr : __libc_calloc(n, size); }
void *realloc(void *memory, size_t size) { return fails() ? nullptr : __libc_realloc(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? nullptr : __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) { return fails() ? nullptr : __libc_memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
    if (fails()) return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
    real_main = start;
    const auto next = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
    return next(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}
}
