/* Models on a GPU through Vulkan: a library beside the runtime (liblongwave-vulkan), for artifacts that
 * were compiled for one (longwave compile --target vulkan-32k).
 *
 *   lw_vulkan_open           finds a device and makes it ready. libvulkan is looked for now and not before.
 *   options.device = device  lw_model_open uploads weights and, where an entry needs them, what the CPU
 *                            prepares; compiles the kernels' modules.
 *   lw_runner_create, lw_run as on the CPU: one command buffer for a sequence, one dispatch for each
 *                            kernel call.
 *   lw_stream_create, push, pull, save, load …  as on the CPU, where the artifact has streams for a GPU
 *                            (else LW_NO_STREAM). Their state lies on the device; saved, it goes on anywhere.
 *                            lw_device_flush runs blocks of all streams of a device, each kernel call one dispatch
 *                            for all of them.
 *   lw_vulkan_prove          once after opening a model: the artifact's golden vectors on this device. A device that
 *                            answers wrongly is put aside.
 *   lw_vulkan_close          after the last model made on it.
 *
 * Threads: a device and a model may be shared by any number of threads, a runner belongs to one at a time.
 * All streams of a device belong to one thread at a time (lw_device_flush).
 * lw_run, pull and flush wait for the device and call the system: they are not for real-time threads. Results agree with the
 * processor's within 1e-5 of the largest value of an output; on one device, driver and artifact they are the same
 * bits.
 *
 * Errors beside those of longwave.h: LW_NO_DEVICE no libvulkan, or no such device; LW_UNSUPPORTED a limit or
 * feature is missing; LW_NO_MEMORY of the process or the device; LW_DEVICE_LOST, LW_TIMEOUT, LW_DEVICE_WRONG:
 * close the runner, model and device, and go on elsewhere (or ask for fall_back); LW_DEVICE any other failure of the
 * driver. lw_last_error names the call. */
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
    /* Where compiled pipelines and proofs are kept from one process to the next, by device, driver, version of this
     * library and artifact; NULL: nowhere. It is made (mode 0700) when only its last part is missing. A folder or
     * file of another user, or that others may write, is not used, nor anything damaged or of another driver: then
     * the work is done again, and lw_vulkan_info.no_cache says why. At most 256 MiB stay. Any number of processes
     * may share it. Not kept as a string: the folder stays open */
    const char *cache_folder;
    /* 1: a run that fails on the device (lost, no answer in time, no memory, put aside) is computed by the
     * processor, from the same inputs, and so is every later one while the device stays away. What that needs is
     * taken when a model is opened and a runner made: the CPU's tables and arena beside the GPU's. What was
     * computed where, lw_vulkan_stats.fallen_back tells. 0: lw_run returns the status */
    int fall_back;
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
    uint32_t vendor, identity, driver; /* vendorID, deviceID, driverVersion */
    uint8_t uuid[16]; /* pipelineCacheUUID: another one for every device and build of the driver */
    char no_cache
        [128]; /* of an open device: why cache_folder is not used. Empty: it is, or none was asked for */
} lw_vulkan_info;

/* What there is. *n: in, room in the list; out, devices. Set list->struct_size first. LW_TOO_SMALL: more devices than
 * room; the first ones were written. `list` may be NULL when *n is 0. */
LW_API lw_status lw_vulkan_devices(const lw_vulkan_options *options, lw_vulkan_info *list, size_t *n);

LW_API lw_status lw_vulkan_open(const lw_vulkan_options *options, lw_device **out);
LW_API void lw_vulkan_close(lw_device *device); /* NULL is fine */

/* The golden vectors of the model's entries, run on its device twice: at once, or (again = 0) not at all where
 * cache_folder remembers that this device and driver gave them. *worst (may be NULL): the largest error relative to
 * its limit. LW_DEVICE_WRONG: both runs are wrong, or one of the two; the device is put aside: from then on every
 * upload and run on it has this status, of other models as well (or falls back). Before any thread runs the model:
 * nothing falls back while it is proved. An artifact without golden vectors proves nothing. */
LW_API lw_status lw_vulkan_prove(const lw_model *model, int again, double *worst);

/* What lies between CPU and device: µs of handing work over and waiting for it, whatever it is, of a byte moved
 * between their memories, and of each move beside. */
typedef struct lw_vulkan_times {
    size_t struct_size;
    double submission_us, byte_us, move_us;
} lw_vulkan_times;
/* Times, by the clock, each step of a run entry of the artifact alone, by its index in the plan, where it is computed:
 * entries of the device, of the CPU (its device opened with fall_back) or mixed ones, on silence. *step_us: n
 * values, n the steps of the entry. Clears take a value too, moves 0. For programs that decide which layer runs where
 * (`longwave bench --layers`): takes seconds, memory of a runner, and calls everything that lw_run does. */
LW_API lw_status lw_vulkan_time_run(const lw_model *model, uint32_t entry, double *step_us, size_t n,
                                    lw_vulkan_times *times);

/* What was done on a device since it was opened. */
typedef struct lw_vulkan_stats {
    size_t struct_size;
    uint64_t runs;       /* of entries: of one sequence, or of blocks of streams together in one submission */
    uint64_t dispatches; /* kernel calls in them */
    uint64_t fills;      /* clears in them */
    uint64_t
        recordings; /* of command buffers: one for each runner and entry, and one more whenever an entry that clears
                     * behind the end of a sequence gets one of another length; for streams one for each entry and
                     * combination of steps that fire in a block, and again when their memory grows */
    uint64_t uploaded_bytes;    /* weights and derived */
    uint64_t cached_models;     /* whose pipelines the driver had from cache_folder */
    uint64_t remembered_proofs; /* that cache_folder had */
    uint64_t fallen_back;       /* runs that the CPU computed */
    /* Of runs: one each, and of a mixed entry, some of whose layers are the CPU's, one for each piece that is the
     * device's. */
    uint64_t submissions;
    uint64_t moved_bytes; /* that mixed entries moved between the CPU's memory and the device's */
} lw_vulkan_stats;
/* Set info->struct_size, stats->struct_size first. Any thread. */
LW_API lw_status lw_vulkan_get_info(const lw_device *device, lw_vulkan_info *info);
LW_API lw_status lw_vulkan_get_stats(const lw_device *device, lw_vulkan_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
