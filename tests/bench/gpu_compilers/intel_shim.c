// A preload that shows Mesa's Intel driver a GPU where there is none. It answers what the driver
// asks of the kernel at the border of the C library, so that the driver makes a device, compiles
// pipelines and takes all other calls. Nothing is computed: memory holds zeros, and every
// submission ends at once.
//     LD_PRELOAD=intel_shim.so LONGWAVE_SHIM=a770 PROGRAM
// Source of numbers and structs: i915_drm.h of libdrm, the kernel's public interface.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <drm.h>
#include <errno.h>
#include <fcntl.h>
#include <i915_drm.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

static const char node[] = "/dev/dri/renderD128", primary[] = "/dev/dri/card0", backing[] = "gpu-shim";

struct chip {
    const char *name;
    int device, slices, subslices, units; // subslices of a slice, execution units of a subslice
    int local_memory;
};
static const struct chip chips[] = {
    {"a770", 0x56a0, 8, 4, 16, 1},  // Arc A770: 512 units
    {"uhd770", 0x4680, 1, 2, 16, 0} // UHD 770 of a desktop processor: 32 units
};

static const struct chip *chip(void) {
    const char *name = getenv("LONGWAVE_SHIM");
    for (size_t i = 0; name && i < sizeof chips / sizeof *chips; i++)
        if (!strcmp(name, chips[i].name)) return &chips[i];
    return &chips[0];
}

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

int stat(const char *path, struct stat *status) {
    NEXT(stat_function, "stat");
    return is_node(path) ? describe(status, strcmp(path, node) ? 0 : 128) : next(path, status);
}

int stat64(const char *path, struct stat64 *status) { // the same struct on 64-bit machines
    NEXT(stat_function, "stat64");
    return is_node(path) ? describe((struct stat *)status, strcmp(path, node) ? 0 : 128)
                         : next(path, (struct stat *)status);
}

// ---- the list of devices, which libdrm reads from folders of the kernel ----

struct listed {
    drmDevice device;
    drmPciBusInfo bus;
    drmPciDeviceInfo pci;
    char *nodes[DRM_NODE_MAX];
    char names[DRM_NODE_MAX][sizeof node];
};

static drmDevicePtr list_device(void) {
    struct listed *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    for (int i = 0; i < DRM_NODE_MAX; i++) made->nodes[i] = made->names[i];
    strcpy(made->names[DRM_NODE_RENDER], node);
    strcpy(made->names[DRM_NODE_PRIMARY], primary);
    made->bus.dev = 2;
    made->pci.vendor_id = 0x8086;
    made->pci.device_id = (uint16_t)chip()->device;
    made->device = (drmDevice){.nodes = made->nodes,
                               .available_nodes = 1 << DRM_NODE_RENDER,
                               .bustype = DRM_BUS_PCI,
                               .businfo.pci = &made->bus,
                               .deviceinfo.pci = &made->pci};
    return &made->device;
}

int drmGetDevices2(uint32_t flags, drmDevicePtr devices[], int room) {
    (void)flags;
    if (devices && room > 0) devices[0] = list_device();
    return 1;
}

int drmGetDevice2(int file, uint32_t flags, drmDevicePtr *device) {
    (void)file, (void)flags;
    *device = list_device();
    return 0;
}

void drmFreeDevice(drmDevicePtr *device) {
    free(*device);
    *device = NULL;
}

void drmFreeDevices(drmDevicePtr devices[], int count) {
    for (int i = 0; i < count; i++) drmFreeDevice(&devices[i]);
}

// ---- what the driver asks ----

// Length of an answer; it is written where the caller gave room.
static int topology(uint8_t *to) {
    const struct chip *c = chip();
    const int slice_bytes = (c->slices + 7) / 8, stride = (c->subslices + 7) / 8, units = (c->units + 7) / 8,
              length = (int)sizeof(struct drm_i915_query_topology_info) + slice_bytes + c->slices * stride +
                       c->slices * c->subslices * units;
    if (!to) return length;
    memset(to, 0, (size_t)length);
    struct drm_i915_query_topology_info *info = (struct drm_i915_query_topology_info *)to;
    info->max_slices = (uint16_t)c->slices;
    info->max_subslices = (uint16_t)c->subslices;
    info->max_eus_per_subslice = (uint16_t)c->units;
    info->subslice_offset = (uint16_t)slice_bytes;
    info->subslice_stride = (uint16_t)stride;
    info->eu_offset = (uint16_t)(slice_bytes + c->slices * stride);
    info->eu_stride = (uint16_t)units;
    const struct {
        int count, offset, stride, bits;
    } masks[] = {{1, 0, 0, c->slices},
                 {c->slices, info->subslice_offset, stride, c->subslices},
                 {c->slices * c->subslices, info->eu_offset, units, c->units}};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
        for (int i = 0; i < masks[m].count; i++)
            for (int bit = 0; bit < masks[m].bits; bit++)
                info->data[masks[m].offset + i * masks[m].stride + bit / 8] |= (uint8_t)(1 << bit % 8);
    return length;
}

static int engines(uint8_t *to) {
    const int count = 2,
              length = (int)(sizeof(struct drm_i915_query_engine_info) + count * sizeof(struct drm_i915_engine_info));
    if (!to) return length;
    memset(to, 0, (size_t)length);
    struct drm_i915_query_engine_info *info = (struct drm_i915_query_engine_info *)to;
    info->num_engines = (uint32_t)count;
    info->engines[0].engine.engine_class = I915_ENGINE_CLASS_RENDER;
    info->engines[1].engine.engine_class = I915_ENGINE_CLASS_COPY;
    return length;
}

static int regions(uint8_t *to) {
    const int count = 1 + chip()->local_memory,
              length = (int)(sizeof(struct drm_i915_query_memory_regions) +
                             (size_t)count * sizeof(struct drm_i915_memory_region_info));
    if (!to) return length;
    memset(to, 0, (size_t)length);
    struct drm_i915_query_memory_regions *info = (struct drm_i915_query_memory_regions *)to;
    info->num_regions = (uint32_t)count;
    for (int i = 0; i < count; i++) {
        info->regions[i].region.memory_class = i ? I915_MEMORY_CLASS_DEVICE : I915_MEMORY_CLASS_SYSTEM;
        info->regions[i].probed_size = info->regions[i].unallocated_size = 8ull << 30;
    }
    return length;
}

static int query(const struct drm_i915_query *asked) {
    enum { geometry_subslices = 6 }; // DRM_I915_QUERY_GEOMETRY_SUBSLICES of newer headers
    struct drm_i915_query_item *items = (struct drm_i915_query_item *)(uintptr_t)asked->items_ptr;
    for (uint32_t i = 0; i < asked->num_items; i++) {
        uint8_t *to = items[i].length ? (uint8_t *)(uintptr_t)items[i].data_ptr : NULL;
        switch (items[i].query_id) {
        case DRM_I915_QUERY_TOPOLOGY_INFO:
        case geometry_subslices: items[i].length = topology(to); break;
        case DRM_I915_QUERY_ENGINE_INFO: items[i].length = engines(to); break;
        case DRM_I915_QUERY_MEMORY_REGIONS: items[i].length = regions(to); break;
        default: items[i].length = -EINVAL;
        }
    }
    return 0;
}

static int parameter(const struct drm_i915_getparam *asked) {
    const struct chip *c = chip();
    switch (asked->param) {
    case I915_PARAM_CHIPSET_ID: *asked->value = c->device; break;
    case I915_PARAM_REVISION: *asked->value = 8; break;
    case I915_PARAM_CS_TIMESTAMP_FREQUENCY: *asked->value = 19200000; break;
    case I915_PARAM_HAS_ALIASING_PPGTT: *asked->value = 3; break; // a space of addresses for each process
    case I915_PARAM_MMAP_VERSION:
    case I915_PARAM_MMAP_GTT_VERSION: *asked->value = 4; break;
    case I915_PARAM_CMD_PARSER_VERSION: *asked->value = 10; break;
    case I915_PARAM_SLICE_MASK: *asked->value = (1 << c->slices) - 1; break;
    case I915_PARAM_SUBSLICE_MASK: *asked->value = (1 << c->subslices) - 1; break;
    case I915_PARAM_SUBSLICE_TOTAL: *asked->value = c->slices * c->subslices; break;
    case I915_PARAM_EU_TOTAL: *asked->value = c->slices * c->subslices * c->units; break;
    case I915_PARAM_HAS_LLC:
    case I915_PARAM_HAS_USERPTR_PROBE: *asked->value = 0; break;
    default: *asked->value = 1; // whether the kernel has something: it has
    }
    return 0;
}

// Buffers are handles with a size; a buffer gets room in the sparse file when it is mapped.
enum { most_buffers = 1 << 16 };
static uint64_t sizes[most_buffers], places[most_buffers], end_of_file = 1 << 20;
static uint32_t last_buffer, last_object;

static uint32_t new_buffer(uint64_t size) {
    const uint32_t handle = ++last_buffer % most_buffers;
    sizes[handle] = size, places[handle] = 0;
    return handle;
}

static uint64_t place_of(uint32_t handle) {
    const uint64_t page = 1 << 20;
    handle %= most_buffers;
    if (!places[handle]) {
        places[handle] = end_of_file;
        end_of_file += (sizes[handle] + page) / page * page;
    }
    return places[handle];
}

static int answer_i915(int number, void *data) {
    switch (number) {
    case DRM_I915_GETPARAM: return parameter(data);
    case DRM_I915_QUERY: return query(data);
    case DRM_I915_GEM_CREATE: {
        struct drm_i915_gem_create *create = data;
        create->handle = new_buffer(create->size);
        return 0;
    }
    case DRM_I915_GEM_CREATE_EXT: {
        struct drm_i915_gem_create_ext *create = data;
        create->handle = new_buffer(create->size);
        return 0;
    }
    case DRM_I915_GEM_USERPTR: {
        struct drm_i915_gem_userptr *create = data;
        create->handle = new_buffer(create->user_size);
        return 0;
    }
    case DRM_I915_GEM_MMAP_GTT: { // and MMAP_OFFSET, which begins with the same members
        struct drm_i915_gem_mmap_offset *map = data;
        map->offset = place_of(map->handle);
        return 0;
    }
    case DRM_I915_GEM_CONTEXT_CREATE: ((struct drm_i915_gem_context_create *)data)->ctx_id = 1; return 0;
    case DRM_I915_GEM_CONTEXT_GETPARAM: {
        struct drm_i915_gem_context_param *asked = data;
        asked->value = asked->param == I915_CONTEXT_PARAM_GTT_SIZE ? 1ull << 48 : 0;
        return 0;
    }
    case DRM_I915_GEM_GET_APERTURE: {
        struct drm_i915_gem_get_aperture *aperture = data;
        aperture->aper_size = aperture->aper_available_size = 1ull << 48;
        return 0;
    }
    case DRM_I915_GEM_VM_CREATE: ((struct drm_i915_gem_vm_control *)data)->vm_id = 1; return 0;
    case DRM_I915_REG_READ: ((struct drm_i915_reg_read *)data)->val = 0; return 0;
    default: return 0; // done, whatever it is
    }
}

static int answer_drm(unsigned long request, void *data) {
    switch (request) {
    case DRM_IOCTL_VERSION: {
        struct drm_version *version = data;
        const char name[] = "i915";
        if (version->name && version->name_len >= strlen(name)) memcpy(version->name, name, strlen(name));
        version->name_len = strlen(name);
        version->date_len = version->desc_len = 0;
        version->version_major = 1, version->version_minor = 6;
        return 0;
    }
    case DRM_IOCTL_GET_CAP: ((struct drm_get_cap *)data)->value = 1; return 0;
    case DRM_IOCTL_SYNCOBJ_CREATE: ((struct drm_syncobj_create *)data)->handle = ++last_object; return 0;
    case DRM_IOCTL_SYNCOBJ_WAIT: ((struct drm_syncobj_wait *)data)->first_signaled = 0; return 0;
    case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT: ((struct drm_syncobj_timeline_wait *)data)->first_signaled = 0; return 0;
    case DRM_IOCTL_SYNCOBJ_QUERY: {
        const struct drm_syncobj_timeline_array *asked = data;
        uint64_t *points = (uint64_t *)(uintptr_t)asked->points;
        for (uint32_t i = 0; i < asked->count_handles; i++) points[i] = UINT64_MAX; // all has happened
        return 0;
    }
    default: return 0;
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
    return number >= DRM_COMMAND_BASE && number < DRM_COMMAND_END ? answer_i915((int)(number - DRM_COMMAND_BASE), data)
                                                                  : answer_drm(request, data);
}
