/* Models on a GPU through Vulkan: a library beside the runtime (liblongwave-vulkan), for artifacts that
 * were compiled for one (longwave compile --target vulkan-32k).
 *
 *   lw_vulkan_open           finds a device and makes it ready. libvulkan is looked for now and not before.
 *   options.device = device  lw_model_open uploads weights and, where an entry needs them, what the processor
 *                            prepares; compiles the kernels' modules.
 *   lw_runner_create, lw_run as on the processor: one command buffer for a sequence, one dispatch for each
 *                            kernel call.
 *   lw_stream_create, push, pull, save, load …  as on the processor, where the artifact has streams for a GPU
 *                            (else LW_NO_STREAM). Their state lies on the device; saved, it goes on anywhere.
 *                            lw_device_flush runs blocks of all streams of a device, each kernel call one dispatch
 *                            for all of them.
 *   lw_vulkan_close          after the last model made on it.
 *
 * Threads: a device and a model may be shared by any number of threads, a runner belongs to one at a time.
 * All streams of a device belong to one thread at a time (lw_device_flush).
 * lw_run, pull and flush wait for the device and call the system: they are not for real-time threads. Results agree with the
 * processor's within 1e-5 of the largest value of an output; on one device, driver and artifact they are the same
 * bits.
 *
 * Errors beside those of longwave.h: LW_NO_DEVICE no libvulkan, or no such device; LW_UNSUPPORTED a limit or
 * feature is missing; LW_NO_MEMORY of the process or the device; LW_DEVICE_LOST, LW_TIMEOUT: close the runner,
 * model and device, and go on elsewhere; LW_DEVICE any other failure of the driver. lw_last_error names the call. */
#ifndef LONGWAVE_VULKAN_H
#define LONGWAVE_VULKAN_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_vulkan_options {
    size_t struct_size;
    const char *device;  /* NULL: the best (discrete, integrated, virtual, software); a number: that of
                          * lw_vulkan_devices; else a part of its name. Not kept */
    uint32_t timeout_ms; /* for one run or upload; 0: 60,000 */
    const lw_allocator *allocator; /* NULL: malloc/free. Copied; its context must outlive the device */
    /* vkGetInstanceProcAddr, for programs that have loaded Vulkan already. NULL: that of libvulkan.so.1. */
    void (*(*get_instance_proc_addr)(void *instance, const char *name))(void);
} lw_vulkan_options;

typedef enum lw_vulkan_kind {
    LW_VULKAN_OTHER = 0,
    LW_VULKAN_INTEGRATED = 1,
    LW_VULKAN_DISCRETE = 2,
    LW_VULKAN_VIRTUAL = 3,
    LW_VULKAN_SOFTWARE = 4
} lw_vulkan_kind;

/* In a list of these the next one lies struct_size bytes on. */
typedef struct lw_vulkan_info {
    size_t struct_size;
    char name[256];
    lw_vulkan_kind kind;
    uint32_t api_major, api_minor, api_patch; /* of Vulkan */
    uint32_t shared_bytes;                    /* of a workgroup */
    uint32_t threads;                         /* of a workgroup */
    uint64_t memory_bytes;                    /* of its largest own heap */
    int usable;                               /* 0: `missing` says why */
    char missing[128];
} lw_vulkan_info;

/* What there is. *n: in, room in the list; out, devices. Set list->struct_size first. LW_TOO_SMALL: more devices than
 * room; the first ones were written. `list` may be NULL when *n is 0. */
LW_API lw_status lw_vulkan_devices(const lw_vulkan_options *options, lw_vulkan_info *list, size_t *n);

LW_API lw_status lw_vulkan_open(const lw_vulkan_options *options, lw_device **out);
LW_API void lw_vulkan_close(lw_device *device); /* NULL is fine */

/* What was done on a device since it was opened. */
typedef struct lw_vulkan_stats {
    size_t struct_size;
    uint64_t runs;           /* command buffers of entries submitted: for a run, or for blocks of streams together */
    uint64_t dispatches;     /* kernel calls in them */
    uint64_t fills;          /* clears in them */
    uint64_t recordings;     /* of command buffers: one for each submission of streams, for each runner and entry, and one more whenever an
                              * entry that clears behind the end of a sequence gets one of another length */
    uint64_t uploaded_bytes; /* weights and derived */
} lw_vulkan_stats;
/* Set info->struct_size, stats->struct_size first. Any thread. */
LW_API lw_status lw_vulkan_get_info(const lw_device *device, lw_vulkan_info *info);
LW_API lw_status lw_vulkan_get_stats(const lw_device *device, lw_vulkan_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
