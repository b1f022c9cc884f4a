/* For LD_PRELOAD, in a host written in Python: counts what the audio thread of a plug-in must not call while
 * it is in run() or work_response(): allocations, locks and files. The worker's schedule_work is here too,
 * because Python allocates. Linux with glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 16, JOB = 8192 };

static _Thread_local int watched;
static _Thread_local uint32_t calls;
static struct {
    uint32_t size;
    char bytes[JOB];
} jobs[JOBS];
static uint32_t n_jobs, n_taken;

#define VISIBLE __attribute__((visibility("default")))

/* How many forbidden calls run(handle, n) made. */
VISIBLE uint32_t watched_run(void (*run)(void *, uint32_t), void *handle, uint32_t n) {
    calls = 0;
    watched = 1;
    run(handle, n);
    watched = 0;
    return calls;
}

VISIBLE uint32_t watched_response(int (*response)(void *, uint32_t, const void *), void *handle,
                                  uint32_t size, const void *data) {
    calls = 0;
    watched = 1;
    response(handle, size, data);
    watched = 0;
    return calls;
}

/* Of LV2_Worker_Schedule. `full`: the host has no room for a job. */
VISIBLE int watched_schedule(const int *full, uint32_t size, const void *data) {
    if (*full || n_jobs == JOBS || size > JOB) return 3;
    jobs[n_jobs].size = size;
    memcpy(jobs[n_jobs++].bytes, data, size);
    return 0;
}

/* The oldest job that was not asked for. NULL: none. */
VISIBLE const char *watched_job(uint32_t *size) {
    if (n_taken == n_jobs) return n_jobs = n_taken = 0, NULL;
    *size = jobs[n_taken].size;
    return jobs[n_taken++].bytes;
}

/* ---- what is forbidden ---- */

static void *next(const char *name) {
    const int was = watched; /* dlsym allocates */
    watched = 0;
    void *found = dlsym(RTLD_NEXT, name);
    watched = was;
    return found;
}

static void count(void) { calls += (uint32_t)watched; }

/* glibc's own names: dlsym allocates before it finds any. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

VISIBLE void *malloc(size_t size) { return count(), __libc_malloc(size); }
VISIBLE void *calloc(size_t n, size_t size) { return count(), __libc_calloc(n, size); }
VISIBLE void *realloc(void *old, size_t size) { return count(), __libc_realloc(old, size); }
VISIBLE void *aligned_alloc(size_t alignment, size_t size) {
    return count(), __libc_memalign(alignment, size);
}
VISIBLE void *memalign(size_t alignment, size_t size) { return count(), __libc_memalign(alignment, size); }
VISIBLE int posix_memalign(void **made, size_t alignment, size_t size) {
    count();
    *made = __libc_memalign(alignment, size);
    return *made ? 0 : 12;
}
VISIBLE void free(void *memory) {
    count();
    __libc_free(memory);
}

#define PASSED_ON(result, name, parameters, ...)                                                             \
    VISIBLE result name parameters {                                                                         \
        static result(*real) parameters;                                                                     \
        count();                                                                                             \
        if (!real) *(void **)&real = next(#name);                                                            \
        return real(__VA_ARGS__);                                                                            \
    }
PASSED_ON(int, pthread_mutex_lock, (pthread_mutex_t * mutex), mutex)
PASSED_ON(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), lock)
PASSED_ON(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), lock)
PASSED_ON(FILE *, fopen, (const char *path, const char *mode), path, mode)
PASSED_ON(FILE *, fopen64, (const char *path, const char *mode), path, mode)

/* The mode is an argument more where a file may be made. */
#define OPENS(name)                                                                                          \
    VISIBLE int name(const char *path, int flags, ...) {                                                     \
        static int (*real)(const char *, int, ...);                                                          \
        count();                                                                                             \
        if (!real) *(void **)&real = next(#name);                                                            \
        va_list more;                                                                                        \
        va_start(more, flags);                                                                               \
        const int mode = va_arg(more, int);                                                                  \
        va_end(more);                                                                                        \
        return real(path, flags, mode);                                                                      \
    }
OPENS(open)
OPENS(open64)
