#define _GNU_SOURCE
#include "shim.h"
#include <dlfcn.h>
#include <drm.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char node[] = "/dev/dri/renderD128", primary[] = "/dev/dri/card0", backing[] = "gpu-shim";

// ---- the node of the device: a sparse file, so that memory of the device can be mapped ----

static int open_node(void) {
    const int file = memfd_create(backing, MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)1 << 42)) return -1;
    return file;
}

static int is_node(const char *path) { return path && (!strcmp(path, node) || !strcmp(path, primary)); }

static int is_ours(int file) {
    char link[64], target[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0) return 0;
    target[length] = 0;
    return strstr(target, backing) != NULL;
}

#define NEXT(type, name)                                                                                     \
    static type next;                                                                                        \
    if (!next) next = (type)dlsym(RTLD_NEXT, name)

typedef int (*open_function)(const char *, int, ...);

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int mode = va_arg(more, int);
    va_end(more);
    NEXT(open_function, "open");
    return is_node(path) ? open_node() : next(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int mode = va_arg(more, int);
    va_end(more);
    NEXT(open_function, "open64");
    return is_node(path) ? open_node() : next(path, flags, mode);
}

static int describe(struct stat *status, int minor_number) {
    memset(status, 0, sizeof *status);
    status->st_mode = S_IFCHR | 0666;
    status->st_rdev = makedev(226, minor_number); // 226: devices of drm
    return 0;
}

typedef int (*stat_function)(const char *, struct stat *);
typedef int (*fstat_function)(int, struct stat *);
enum { render_minor = 128 };

int stat(const char *path, struct stat *status) {
    NEXT(stat_function, "stat");
    return is_node(path) ? describe(status, strcmp(path, node) ? 0 : render_minor) : next(path, status);
}

int stat64(const char *path, struct stat64 *status) { // the same struct on 64-bit machines
    NEXT(stat_function, "stat64");
    return is_node(path) ? describe((struct stat *)status, strcmp(path, node) ? 0 : render_minor)
                         : next(path, (struct stat *)status);
}

int fstat(int file, struct stat *status) {
    NEXT(fstat_function, "fstat");
    return is_ours(file) ? describe(status, render_minor) : next(file, status);
}

int fstat64(int file, struct stat64 *status) {
    NEXT(fstat_function, "fstat64");
    return is_ours(file) ? describe((struct stat *)status, render_minor) : next(file, (struct stat *)status);
}

// ---- the list of devices, which libdrm reads from folders of the kernel ----

struct listed {
    drmDevice device;
    char *nodes[DRM_NODE_MAX];
    char names[DRM_NODE_MAX][sizeof node];
};

static drmDevicePtr list_device(int number) {
    struct listed *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    for (int i = 0; i < DRM_NODE_MAX; i++) made->nodes[i] = made->names[i];
    strcpy(made->names[DRM_NODE_RENDER], node);
    strcpy(made->names[DRM_NODE_PRIMARY], primary);
    made->device.nodes = made->nodes;
    if (shim_describe(number, &made->device)) return &made->device;
    free(made);
    return NULL;
}

int drmGetDevices2(uint32_t flags, drmDevicePtr devices[], int room) {
    (void)flags;
    int count = 0;
    for (drmDevicePtr one; (one = list_device(count)); count++) {
        if (devices && count < room) devices[count] = one;
        else free(one);
    }
    return count;
}

int drmGetDevice2(int file, uint32_t flags, drmDevicePtr *device) {
    (void)file, (void)flags;
    *device = list_device(0);
    return 0;
}

void drmFreeDevice(drmDevicePtr *device) {
    free(*device);
    *device = NULL;
}

void drmFreeDevices(drmDevicePtr devices[], int count) {
    for (int i = 0; i < count; i++) drmFreeDevice(&devices[i]);
}

// ---- buffers ----

enum { most_buffers = 1 << 16 };
static uint64_t sizes[most_buffers], places[most_buffers], end_of_file = 1 << 20;
static uint32_t last_buffer, last_object;

uint32_t shim_new_buffer(uint64_t size) {
    const uint32_t handle = ++last_buffer % most_buffers;
    sizes[handle] = size, places[handle] = 0;
    return handle;
}

uint64_t shim_place(uint32_t handle) {
    const uint64_t page = 1 << 20;
    handle %= most_buffers;
    if (!places[handle]) {
        places[handle] = end_of_file;
        end_of_file += (sizes[handle] + page) / page * page;
    }
    return places[handle];
}

// ---- what every driver asks ----

// The length of a text, and the text where the caller gave room.
static void answer_text(char *to, __kernel_size_t *room, const char *text) {
    if (to && *room >= strlen(text)) memcpy(to, text, strlen(text));
    *room = strlen(text);
}

static int answer_drm(unsigned long request, void *data) {
    switch (request) {
    case DRM_IOCTL_VERSION: {
        struct drm_version *version = data;
        answer_text(version->name, &version->name_len, shim_driver());
        answer_text(version->date, &version->date_len, "-"); // libdrm copies all three, also empty ones
        answer_text(version->desc, &version->desc_len, "-");
        version->version_major = 1, version->version_minor = 9; // newer than what any of the drivers needs
        return 0;
    }
    case DRM_IOCTL_GET_CAP: ((struct drm_get_cap *)data)->value = 1; return 0;
    case DRM_IOCTL_SYNCOBJ_CREATE: ((struct drm_syncobj_create *)data)->handle = ++last_object; return 0;
    case DRM_IOCTL_SYNCOBJ_WAIT: ((struct drm_syncobj_wait *)data)->first_signaled = 0; return 0;
    case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT:
        ((struct drm_syncobj_timeline_wait *)data)->first_signaled = 0;
        return 0;
    case DRM_IOCTL_SYNCOBJ_QUERY: {
        const struct drm_syncobj_timeline_array *asked = data;
        uint64_t *points = (uint64_t *)(uintptr_t)asked->points;
        for (uint32_t i = 0; i < asked->count_handles; i++) points[i] = UINT64_MAX; // all has happened
        return 0;
    }
    default: return 0; // done, whatever it is
    }
}

typedef int (*ioctl_function)(int, unsigned long, ...);

int ioctl(int file, unsigned long request, ...) {
    va_list more;
    va_start(more, request);
    void *data = va_arg(more, void *);
    va_end(more);
    NEXT(ioctl_function, "ioctl");
    if (_IOC_TYPE(request) != DRM_IOCTL_BASE || !is_ours(file)) return next(file, request, data);
    const unsigned number = _IOC_NR(request);
    return number >= DRM_COMMAND_BASE && number < DRM_COMMAND_END
               ? shim_answer(number - DRM_COMMAND_BASE, data)
               : answer_drm(request, data);
}
