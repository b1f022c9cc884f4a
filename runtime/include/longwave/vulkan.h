/** @file
 * Models on a GPU through Vulkan. A library of its own (liblongwave-vulkan), for models compiled
 * for a GPU (`longwave compile --target vulkan-32k`).
 *
 *   lw_vulkan_open             finds a device and opens it. Loads libvulkan now, not before.
 *   options.device = device    lw_model_open uploads weights and tables, and compiles the kernels.
 *   lw_runner_create, lw_run   as on the CPU: one submission per sequence, one dispatch per kernel
 *                              call.
 *   lw_stream_create, push, pull, save, load ...
 *                              as on the CPU, if the model has streams for a GPU (LW_NO_STREAM
 *                              otherwise). The state is on the device. A saved state loads
 *                              anywhere. lw_device_flush runs blocks of many streams with one
 *                              dispatch per kernel call for all of them.
 *   lw_vulkan_prove            once after opening a model: checks its reference outputs on this
 *                              device. A device with wrong results is disabled until it is
 *                              reopened.
 *   lw_vulkan_measure          what memory and dispatches cost, for the planner.
 *   lw_vulkan_close            after the last model on the device is closed, and all
 *                              that was made on it destroyed.
 *
 * Threads: any number of threads may share a device and its models. A runner or a stream belongs to
 * one thread at a time. Each thread flushes the streams that it pushes, and several threads may do
 * so at once. lw_run, push, pull and flush wait for the device: they are not for real-time threads.
 * Flush a stream before it goes to another thread.
 *
 * Results agree with the CPU's within lw_model_info.error_limit of the largest value of an output.
 * On one device, driver and model they are bit-identical, as long as the same variants of kernels
 * are chosen (time_variants).
 *
 * After LW_DEVICE_LOST, LW_TIMEOUT or LW_DEVICE_WRONG: close the runners, streams, models and the
 * device, and continue elsewhere (or set fall_back). lw_last_error names the failed call.
 */
#ifndef LONGWAVE_VULKAN_H
#define LONGWAVE_VULKAN_H
#include "longwave/longwave.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of lw_vulkan_open. */
typedef struct lw_vulkan_options {
    size_t struct_size;
    /** NULL: the best device (discrete, integrated, virtual, software). A number: its index in
     * lw_vulkan_devices. Otherwise a part of its name. Not kept. */
    const char *device;
    uint32_t timeout_ms;           /**< for one run or upload; 0: 60,000 */
    const lw_allocator *allocator; /**< NULL: malloc. Copied; its context must outlive the device */
    /** vkGetInstanceProcAddr of a program that has loaded Vulkan already. NULL: of
     * libvulkan.so.1. */
    void (*(*get_instance_proc_addr)(void *instance, const char *name))(void);
    /** Folder for compiled pipelines and results of lw_vulkan_prove; NULL: none. Created with mode
     * 0700 if only its last part is missing. Entries belong to a device, driver, library version
     * and model; anything damaged or different is ignored. A folder or file is ignored if it
     * belongs to another user or if others may write it. lw_vulkan_info.no_cache then says why. At
     * most 256 MiB stay. Any number of processes may share it. The string is not kept, but the
     * folder stays open. */
    const char *cache_folder;
    /** 1: the CPU computes a run that fails on the device, from the same inputs, and every later
     * run while the device stays away. Its memory is taken when the model is opened and the runner
     * created. lw_vulkan_stats.fallen_back counts such runs. 0: lw_run returns the status. */
    int fall_back;
    /** Steps of a stream that share a dispatch, if the file has such steps. 0: except on software
     * devices, where a dispatch costs little and one workgroup cannot use all threads. 1: on every
     * device. 2: on none. */
    int share_dispatches;
    /** 1: lw_vulkan_open leaves out its test of the device's arithmetic, for drivers that run
     * without their GPU: they compile and compute nothing. 0: it runs once in a process. */
    int no_self_test;
    /** Kernels of which the file has several variants: opening a model may time them on the device
     * and take the fastest. That takes up to 5 s and 128 MiB of the device. cache_folder remembers
     * the choice. 0: a remembered choice, else timing if there is a cache_folder, the device is not
     * a software device and no_self_test is 0. 1: timing, whatever is remembered. 2: the first
     * variant of each. */
    int time_variants;
} lw_vulkan_options;
#define LW_VULKAN_OPTIONS_INIT LW_INITIAL(lw_vulkan_options)

/** Kind of a device. */
typedef enum lw_vulkan_kind {
    LW_VULKAN_OTHER = 0,
    LW_VULKAN_INTEGRATED = 1,
    LW_VULKAN_DISCRETE = 2,
    LW_VULKAN_VIRTUAL = 3,
    LW_VULKAN_SOFTWARE = 4,
    LW_VULKAN_KIND_FORCE = 0x7fffffff /**< not used: 32 bits */
} lw_vulkan_kind;

/** A device. In a list, the next element follows after struct_size bytes. */
typedef struct lw_vulkan_info {
    size_t struct_size;
    char name[256];
    lw_vulkan_kind kind;
    uint32_t api_major, api_minor, api_patch; /**< version of Vulkan */
    uint32_t shared_bytes;                    /**< shared memory per workgroup */
    uint32_t threads;                         /**< most threads per workgroup */
    uint64_t memory_bytes;                    /**< of its largest own heap */
    int usable;                               /**< 0: `missing` says why */
    char missing[128];
    uint32_t vendor, identity, driver; /**< vendorID, deviceID, driverVersion */
    uint8_t uuid[16];   /**< pipelineCacheUUID: differs between devices and builds of the driver */
    char no_cache[128]; /**< of an open device: why cache_folder is not used. Empty: it is used, or
                         * none was asked for */
} lw_vulkan_info;
#define LW_VULKAN_INFO_INIT LW_INITIAL(lw_vulkan_info)

/** Lists the devices. Not for real-time threads. Any thread.
 * @param options NULL: defaults.
 * @param list set list->struct_size first; may be NULL when *n is 0.
 * @param n in: room in the list; out: number of devices, 0 after a failure.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT n or list is NULL, struct_size is not set, or the allocator lacks a
 *         function.
 * @retval LW_TOO_SMALL More devices than room. The first ones were written.
 * @retval LW_NO_DEVICE No libvulkan, or no driver.
 * @retval LW_NO_MEMORY The driver has no memory.
 * @retval LW_UNSUPPORTED The driver lacks a feature.
 * @retval LW_DEVICE The driver failed. */
LW_API lw_status lw_vulkan_devices(const lw_vulkan_options *options, lw_vulkan_info *list,
                                   size_t *n);

/** Opens a device. Not for real-time threads. Any thread.
 * @param options NULL: defaults.
 * @param out the device; the caller closes it after its last model.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT out is NULL, struct_size is not set, or the allocator lacks a
 *         function.
 * @retval LW_NO_DEVICE No libvulkan, no driver, or no such device.
 * @retval LW_UNSUPPORTED The device lacks something that every model needs. The detail names it.
 * @retval LW_NO_MEMORY There is no memory.
 * @retval LW_DEVICE The driver failed.
 * @note GPU statuses apply. */
LW_API lw_status lw_vulkan_open(const lw_vulkan_options *options, lw_device **out);
/** Closes a device. Not for real-time threads.
 * @param device NULL: no effect. */
LW_API void lw_vulkan_close(lw_device *device);

/** Runs the reference inputs of the model on its device twice and compares the outputs. With a
 * wrong result the device is disabled until it is reopened. Every later upload and run on it
 * returns LW_DEVICE_WRONG, of other models too, or falls back. Call it before any thread runs the
 * model. Not for real-time threads.
 * @param again 0: skip the runs if cache_folder remembers that this device and driver passed, with
 *        the same variants of kernels.
 * @param worst may be NULL. The largest error, relative to its limit.
 * @retval LW_OK The outputs agree, or the model has no reference outputs.
 * @retval LW_INVALID_ARGUMENT model is NULL or not on a Vulkan device.
 * @retval LW_DEVICE_WRONG A result is wrong, or the two runs differ; or the device is disabled.
 * @retval LW_NOT_FINITE A value exceeds float16 in a model with `--gpu-storage f16`.
 * @retval LW_UNSUPPORTED A stream needs more than the device binds at once.
 * @retval LW_NO_MEMORY There is no memory.
 * @retval LW_DEVICE The driver failed.
 * @note GPU statuses apply. */
LW_API lw_status lw_vulkan_prove(const lw_model *model, int again, double *worst);

/** Times between the CPU and a device, in microseconds. */
typedef struct lw_vulkan_times {
    size_t struct_size;
    double submission_us; /**< per submission: handing work over and waiting for it */
    double byte_us;       /**< per byte transferred between the memories */
    double move_us;       /**< per transfer, in addition */
} lw_vulkan_times;
#define LW_VULKAN_TIMES_INIT LW_INITIAL(lw_vulkan_times)
/** Times each step of an offline entry on its own, on silence, where it is computed. For programs
 * that decide which layer runs on which device (`longwave bench --layers`). Takes seconds and the
 * memory of a runner. Not for real-time threads.
 * @param entry index of an offline entry in the plan. One for the CPU needs a device opened with
 *        fall_back.
 * @param step_us n values, one per step of the entry, in microseconds; 0 for transfers.
 * @param times set times->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT A NULL, no offline entry of that index, a wrong n, an unset
 *         struct_size, or the model is not on a Vulkan device.
 * @retval LW_NO_MEMORY There is no memory.
 * @retval LW_UNSUPPORTED The device has no memory of a kind that a run needs.
 * @retval LW_NOT_FINITE A value exceeds float16 in a model with `--gpu-storage f16`.
 * @retval LW_DEVICE A kernel or the driver failed.
 * @note GPU statuses apply. */
LW_API lw_status lw_vulkan_time_run(const lw_model *model, uint32_t entry, double *step_us,
                                    size_t n, lw_vulkan_times *times);

/** A kernel of which a model has variants, on its device. In a list, the next element follows after
 * struct_size bytes. */
typedef struct lw_vulkan_variants {
    size_t struct_size;
    const char *kernel; /**< its specification, JSON. Lives as long as the model */
    uint32_t n;         /**< variants in the file, at most 8 */
    uint32_t chosen;    /**< number of the variant that the device runs, from 0 */
    float us[8];        /**< microseconds per dispatch of each, for one stream; 0: not timed */
} lw_vulkan_variants;
#define LW_VULKAN_VARIANTS_INIT LW_INITIAL(lw_vulkan_variants)
/** Lists the kernels that have variants. Any thread.
 * @param list set list->struct_size first; may be NULL when *n is 0.
 * @param n in: room in the list; out: number of such kernels, 0 after a failure.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT model or n is NULL, the model is not on a Vulkan device, list is NULL
 *         or its struct_size is not set.
 * @retval LW_TOO_SMALL More kernels than room. The first ones were written. */
LW_API lw_status lw_vulkan_get_variants(const lw_model *model, lw_vulkan_variants *list, size_t *n);

/** Costs of the memory and of a dispatch of a device. */
typedef struct lw_vulkan_costs {
    size_t struct_size;
    double bytes_per_ns;      /**< read and written by a copy between large buffers */
    double ns_per_dispatch;   /**< of a dispatch that does nothing, with the barrier after it */
    uint32_t busy_workgroups; /**< fewest of 256 threads that reach 90 % of bytes_per_ns; a power of
                               * two up to 4096 */
    uint32_t device_clock;    /**< 1: by timestamps of the device. 0: its queue has none, so by the
                               * clock of the host */
} lw_vulkan_costs;
#define LW_VULKAN_COSTS_INIT LW_INITIAL(lw_vulkan_costs)
/** Measures the costs that `longwave tune --device` hands to the planner. Takes about 2 s on a GPU
 * and up to 20 s on a software device. The device needs up to 256 MiB for that time, or a quarter
 * of its memory if that is less. Any thread, but not a real-time thread: it waits for the device.
 * Runs on the device at the same time are correct and spoil the numbers.
 * @param device an open device. It stays as it is.
 * @param costs set costs->struct_size first; filled in. The numbers are finite and above 0. It is
 *        left alone after a failure.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT device or costs is NULL, the device is not of Vulkan, or struct_size
 *         is not set.
 * @retval LW_NO_MEMORY There is no memory.
 * @retval LW_UNSUPPORTED The device has no memory of a kind that the copy needs.
 * @retval LW_DEVICE The driver failed, or its clock stands still.
 * @note GPU statuses apply. */
LW_API lw_status lw_vulkan_measure(const lw_device *device, lw_vulkan_costs *costs);

/** Begins the whole blocks that push has left, of all streams of a device that the calling thread
 * pushed last, in few submissions. It returns while the device works: the program takes the rows of
 * the block before and pushes the next one meanwhile. pull gives the rows of these blocks after the
 * next submit or flush.
 *
 * Two blocks of a stream can be in flight, if the queue has room for the rows of both. Then push
 * waits for the older one before it takes more. finish, reset, save, load, copy and prefill wait
 * for both.
 *
 * Several threads may drive streams of one device at once. Flush a stream before it goes to another
 * thread. Not for real-time threads.
 * @param device NULL: no effect.
 * @retval LW_OK
 * @retval LW_DEVICE The first failure of a stream: a kernel or the driver failed. Other streams
 *         have begun.
 * @note GPU statuses apply. */
LW_API lw_status lw_device_submit(lw_device *device);
/** Runs the whole blocks that push has left and those in flight. It does so for all streams of a
 * device that the calling thread pushed last, in few submissions. pull does so when no row waits: a
 * program with one stream need not call it.
 *
 * Several threads may drive streams of one device at once. Flush a stream before it goes to another
 * thread. Not for real-time threads: it waits for the device.
 * @param device NULL: no effect.
 * @retval LW_OK
 * @retval LW_DEVICE The first failure of a stream: a kernel or the driver failed. Other streams
 *         have run.
 * @note GPU statuses apply. */
LW_API lw_status lw_device_flush(lw_device *device);

/** Counters of a device since it was opened. */
typedef struct lw_vulkan_stats {
    size_t struct_size;
    uint64_t runs;       /**< submitted runs: of one sequence, or of blocks of streams together */
    uint64_t dispatches; /**< kernel calls in them */
    uint64_t fills;      /**< clears in them */
    /** Recorded command buffers. Offline: one per runner and entry. An entry that clears rows
     * after the end of a sequence adds one when the length changes. Streams: one per
     * entry and combination of steps in a block, and again when their memory grows. */
    uint64_t recordings;
    uint64_t uploaded_bytes;    /**< weights and tables */
    uint64_t cached_models;     /**< whose pipelines came from cache_folder */
    uint64_t remembered_proofs; /**< that came from cache_folder */
    uint64_t fallen_back;       /**< runs that the CPU computed */
    uint64_t submissions; /**< one per run; of an entry of both devices, one per part of the GPU */
    uint64_t moved_bytes; /**< that entries of both devices transferred between the memories */
} lw_vulkan_stats;
#define LW_VULKAN_STATS_INIT LW_INITIAL(lw_vulkan_stats)
/** Describes an open device. Any thread.
 * @param info set info->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT device or info is NULL, or struct_size is not set. */
LW_API lw_status lw_vulkan_get_info(const lw_device *device, lw_vulkan_info *info);
/** Reads the counters. Any thread.
 * @param stats set stats->struct_size first; filled in.
 * @retval LW_OK
 * @retval LW_INVALID_ARGUMENT device or stats is NULL, or struct_size is not set. */
LW_API lw_status lw_vulkan_get_stats(const lw_device *device, lw_vulkan_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
