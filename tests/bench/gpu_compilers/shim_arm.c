// GPUs beside ARM CPUs: LONGWAVE_SHIM=adreno660 (msm) or v3d42 (v3d).
#include "shim.h"
// Of the cross compiler's kernel headers: those of libdrm are older.
#include <drm/msm_drm.h>
#include <drm/v3d_drm.h>

static int is_v3d(void) { return !strcmp(shim_chip(), "v3d42"); }

// The display of a Raspberry Pi is a device of its own, without a node for rendering.
int shim_describe(int number, drmDevice *device) {
    static drmPlatformBusInfo bus = {.fullname = "gpu"};
    static drmPlatformDeviceInfo info[2];
    static char adreno[] = "qcom,adreno", v3d[] = "brcm,2711-v3d", display[] = "brcm,bcm2711-vc5";
    static char *compatible[2][2];
    if (number > is_v3d()) return 0;
    compatible[number][0] = number ? display : is_v3d() ? v3d : adreno;
    info[number].compatible = compatible[number];
    device->available_nodes = 1 << (number ? DRM_NODE_PRIMARY : DRM_NODE_RENDER);
    if (!is_v3d()) device->available_nodes |= 1 << DRM_NODE_PRIMARY;
    device->bustype = DRM_BUS_PLATFORM;
    device->businfo.platform = &bus;
    device->deviceinfo.platform = &info[number];
    return 1;
}

const char *shim_driver(void) { return is_v3d() ? "v3d" : "msm"; }

// ---- Adreno 660 ----

enum { va_start_parameter = 0x0e, va_size_parameter = 0x0f }; // MSM_PARAM_VA_START, _SIZE of newer headers
static const uint64_t first_address = 0x100000000ull;

static int msm_parameter(struct drm_msm_param *asked) {
    switch (asked->param) {
    case MSM_PARAM_GPU_ID: asked->value = 660; break;
    case MSM_PARAM_CHIP_ID: asked->value = 0x06060001; break;
    case MSM_PARAM_GMEM_SIZE: asked->value = 0x180000; break;
    case MSM_PARAM_GMEM_BASE: asked->value = 0x100000; break;
    case MSM_PARAM_MAX_FREQ: asked->value = 800000000; break;
    case MSM_PARAM_TIMESTAMP: asked->value = 1; break;
    case MSM_PARAM_PRIORITIES: asked->value = 3; break;
    case va_start_parameter: asked->value = first_address; break;
    case va_size_parameter: asked->value = 1ull << 36; break;
    default: asked->value = 0;
    }
    return 0;
}

static int answer_msm(unsigned number, void *data) {
    switch (number) {
    case DRM_MSM_GET_PARAM: return msm_parameter(data);
    case DRM_MSM_GEM_NEW: {
        struct drm_msm_gem_new *made = data;
        made->handle = shim_new_buffer(made->size);
        return 0;
    }
    case DRM_MSM_GEM_INFO: {
        struct drm_msm_gem_info *asked = data;
        if (asked->info == MSM_INFO_GET_OFFSET) asked->value = shim_place(asked->handle);
        else if (asked->info == MSM_INFO_GET_IOVA) asked->value = first_address + shim_place(asked->handle);
        return 0;
    }
    case DRM_MSM_SUBMITQUEUE_NEW: ((struct drm_msm_submitqueue *)data)->id = 1; return 0;
    default: return 0; // done, whatever it is
    }
}

// ---- V3D 4.2, of a Raspberry Pi 4 ----

static int answer_v3d(unsigned number, void *data) {
    enum { first_place = 0x100000 };
    switch (number) {
    case DRM_V3D_GET_PARAM: {
        struct drm_v3d_get_param *asked = data;
        switch (asked->param) {
        case DRM_V3D_PARAM_V3D_CORE0_IDENT0:
            asked->value = 0x04443356;
            break; // version 4, "V3D" in the low bytes
        // revision 2 of version 4; 2 slices of 4 units; 8 of memory for vertices
        case DRM_V3D_PARAM_V3D_CORE0_IDENT1: asked->value = 2 | 2 << 4 | 4 << 8 | 8u << 28; break;
        default: asked->value = 1; // whether the kernel has something: it has
        }
        return 0;
    }
    case DRM_V3D_CREATE_BO: {
        struct drm_v3d_create_bo *made = data;
        made->handle = shim_new_buffer(made->size);
        made->offset = (uint32_t)(first_place + shim_place(made->handle));
        return 0;
    }
    case DRM_V3D_MMAP_BO: {
        struct drm_v3d_mmap_bo *map = data;
        map->offset = shim_place(map->handle);
        return 0;
    }
    default: return 0; // done, whatever it is
    }
}

int shim_answer(unsigned number, void *data) {
    return is_v3d() ? answer_v3d(number, data) : answer_msm(number, data);
}
