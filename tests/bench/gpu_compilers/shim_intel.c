// Intel's GPUs (i915): LONGWAVE_SHIM=a770 or uhd770.
#include "shim.h"
#include <errno.h>
#include <i915_drm.h>

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
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (!strcmp(shim_chip(), chips[i].name)) return &chips[i];
    return &chips[0];
}

int shim_describe(int number, drmDevice *device) {
    static drmPciBusInfo bus = {.dev = 2};
    static drmPciDeviceInfo pci = {.vendor_id = 0x8086};
    pci.device_id = (uint16_t)chip()->device;
    device->available_nodes = 1 << DRM_NODE_RENDER;
    device->bustype = DRM_BUS_PCI;
    device->businfo.pci = &bus;
    device->deviceinfo.pci = &pci;
    return number == 0;
}

const char *shim_driver(void) { return "i915"; }

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
    const int count = 2, length = (int)(sizeof(struct drm_i915_query_engine_info) +
                                        count * sizeof(struct drm_i915_engine_info));
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

int shim_answer(unsigned number, void *data) {
    switch (number) {
    case DRM_I915_GETPARAM: return parameter(data);
    case DRM_I915_QUERY: return query(data);
    case DRM_I915_GEM_CREATE: {
        struct drm_i915_gem_create *create = data;
        create->handle = shim_new_buffer(create->size);
        return 0;
    }
    case DRM_I915_GEM_CREATE_EXT: {
        struct drm_i915_gem_create_ext *create = data;
        create->handle = shim_new_buffer(create->size);
        return 0;
    }
    case DRM_I915_GEM_USERPTR: {
        struct drm_i915_gem_userptr *create = data;
        create->handle = shim_new_buffer(create->user_size);
        return 0;
    }
    case DRM_I915_GEM_MMAP_GTT: { // and MMAP_OFFSET, which begins with the same members
        struct drm_i915_gem_mmap_offset *map = data;
        map->offset = shim_place(map->handle);
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
