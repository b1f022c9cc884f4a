// longwave/vulkan.h
#include "runtime/core/memory.h"
#include "runtime/core/model.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/library/calls.h"
#include "runtime/vulkan/model/model.h"
#include <new>
#include <stddef.h>
#include <string.h>

using namespace longwave::runtime;
using namespace longwave::runtime::vulkan;

namespace {

lw_status read(const lw_vulkan_options *given, lw_vulkan_options *options) {
    const OptionsFault fault =
        given ? fault_of_options(given, given->struct_size, sizeof *given) : OptionsFault::none;
    if (fault == OptionsFault::unset || fault == OptionsFault::too_long)
        return fail(LW_INVALID_ARGUMENT, "struct_size of lw_vulkan_options is not set");
    if (fault == OptionsFault::unknown_field)
        return fail(LW_INVALID_ARGUMENT,
                    "lw_vulkan_options sets a field that this library does not know; update the "
                    "library, or leave the field 0");
    *options = {};
    if (given) read_sized(given, options);
    if (options->allocator && (!options->allocator->allocate || !options->allocator->release))
        return fail(LW_INVALID_ARGUMENT, "the allocator lacks a function");
    if (options->share_dispatches < 0 || options->share_dispatches > 2)
        return fail(LW_INVALID_ARGUMENT, "share_dispatches is %d: expected 0, 1 or 2",
                    options->share_dispatches);
    if (options->time_variants < 0 || options->time_variants > 2)
        return fail(LW_INVALID_ARGUMENT, "time_variants is %d: expected 0, 1 or 2", options->time_variants);
    return LW_OK;
}

Gpu::Timing timing_of(const lw_vulkan_options &options, bool software) {
    if (options.time_variants == 1) return Gpu::Timing::always;
    if (options.time_variants == 2) return Gpu::Timing::none;
    const bool computes = !options.no_self_test; // else a driver without its GPU
    return computes && !software && options.cache_folder ? Gpu::Timing::once : Gpu::Timing::recalled;
}

lw_status open(Gpu &gpu, const lw_vulkan_options &options) {
    if (lw_status status = gpu.start(options)) return status;
    if (lw_status status = gpu.choose(options.device)) return status;
    if (lw_status status = gpu.make_device()) return status;
    gpu.fall_back = options.fall_back != 0;
    const bool software = gpu.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    gpu.shares_dispatches = options.share_dispatches == 1 || (options.share_dispatches == 0 && !software);
    gpu.timing = timing_of(options, software);
    if (options.cache_folder)
        if (const char *why = gpu.cache.open(options.cache_folder, gpu.properties)) gpu.no_cache = why;
    return options.no_self_test ? LW_OK : self_test(gpu);
}

lw_status list(const Gpu &gpu, lw_vulkan_info *to, size_t *n) {
    constexpr uint32_t most = 64;
    VkPhysicalDevice devices[most];
    uint32_t found = 0;
    if (lw_status status = gpu.list(devices, most, &found)) return status;
    const size_t room = *n;
    *n = found < most ? found : most;
    const size_t step = to ? to->struct_size : 0;
    for (size_t d = 0; d < *n && d < room; ++d) {
        auto *info = reinterpret_cast<lw_vulkan_info *>(reinterpret_cast<uint8_t *>(to) + d * step);
        info->struct_size = step;
        copy_sized(info, gpu.describe(devices[d]));
    }
    return *n <= room ? LW_OK : fail(LW_TOO_SMALL, "%zu Vulkan devices, room for %zu", *n, room);
}

} // namespace

lw_status lw_vulkan_devices(const lw_vulkan_options *options, lw_vulkan_info *to, size_t *n) {
    lw_vulkan_options wanted;
    if (lw_status status = read(options, &wanted)) return status;
    if (!n || (*n > 0 && (!to || to->struct_size < sizeof(size_t))))
        return fail(LW_INVALID_ARGUMENT, "n or list is NULL, or struct_size is not set");
    Gpu gpu{};
    lw_status status = gpu.start(wanted);
    if (status == LW_OK) status = list(gpu, to, n);
    else *n = 0;
    gpu.stop();
    return status;
}

lw_status lw_vulkan_open(const lw_vulkan_options *options, lw_device **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    lw_vulkan_options wanted;
    if (lw_status status = read(options, &wanted)) return status;
    const lw_allocator &allocator = wanted.allocator ? *wanted.allocator : standard_allocator;
    void *memory = allocator.allocate(allocator.context, sizeof(Gpu), line);
    if (!memory) return fail(LW_NO_MEMORY, "no memory for a device: %zu bytes", sizeof(Gpu));
    Gpu *gpu = new (memory) Gpu{};
    gpu->version = lw_device::interface_version;
    gpu->calls = &vulkan::calls;
    gpu->allocator = allocator;
    const lw_status status = open(*gpu, wanted);
    if (status == LW_OK) *out = gpu;
    else lw_vulkan_close(gpu);
    return status;
}

void lw_vulkan_close(lw_device *device) {
    if (!device) return;
    Gpu *gpu = static_cast<Gpu *>(device);
    const lw_allocator allocator = gpu->allocator;
    gpu->stop();
    allocator.release(allocator.context, gpu, sizeof *gpu);
}

lw_status lw_vulkan_get_info(const lw_device *device, lw_vulkan_info *info) {
    if (!device) return fail(LW_INVALID_ARGUMENT, "device is NULL");
    const Gpu &gpu = gpu_of(device);
    lw_vulkan_info known = gpu.describe(gpu.physical);
    strncpy(known.no_cache, gpu.no_cache, sizeof known.no_cache - 1);
    return copy_sized(info, known) ? LW_OK
                                   : fail(LW_INVALID_ARGUMENT, "info is NULL or its struct_size is not set");
}

lw_status lw_vulkan_get_stats(const lw_device *device, lw_vulkan_stats *stats) {
    if (!device) return fail(LW_INVALID_ARGUMENT, "device is NULL");
    const Stats &counted = gpu_of(device).stats;
    lw_vulkan_stats now{};
    now.runs = counted.runs;
    now.dispatches = counted.dispatches;
    now.fills = counted.fills;
    now.recordings = counted.recordings;
    now.uploaded_bytes = counted.uploaded_bytes;
    now.cached_models = counted.cached_models;
    now.remembered_proofs = counted.remembered_proofs;
    now.fallen_back = counted.fallen_back;
    now.submissions = counted.submissions;
    now.moved_bytes = counted.moved_bytes;
    return copy_sized(stats, now) ? LW_OK
                                  : fail(LW_INVALID_ARGUMENT, "stats is NULL or its struct_size is not set");
}

// lw_vulkan_get_variants: what was chosen when the model was opened.

namespace {

lw_vulkan_variants describe(const Model &model, uint32_t kernel) {
    const Choice &choice = model.pipelines.choices()[kernel];
    lw_vulkan_variants found{};
    found.kernel = model.plan().kernels()->Get(kernel)->spec()->c_str();
    found.n = model.modules.variants_of(kernel);
    found.chosen = choice.number;
    static_assert(sizeof found.us == sizeof choice.us);
    memcpy(found.us, choice.us, sizeof found.us);
    return found;
}

} // namespace

lw_status lw_vulkan_get_variants(const lw_model *model, lw_vulkan_variants *list, size_t *n) {
    if (!n) return fail(LW_INVALID_ARGUMENT, "n is NULL");
    const size_t room = *n;
    *n = 0;
    if (room > 0 && (!list || list->struct_size < sizeof(size_t)))
        return fail(LW_INVALID_ARGUMENT, "list is NULL, or its struct_size is not set");
    if (!model || !model->asked || model->asked->calls != &vulkan::calls)
        return fail(LW_INVALID_ARGUMENT, "the model was not opened on a Vulkan device");
    const Model &opened = model_of(*model->on_device);
    const size_t step = list ? list->struct_size : 0;
    for (uint32_t k = 0; k < opened.pipelines.choices().count(); ++k) {
        if (!opened.pipelines[k].pipeline || opened.modules.variants_of(k) < 2) continue;
        if (*n < room) {
            auto *element =
                reinterpret_cast<lw_vulkan_variants *>(reinterpret_cast<uint8_t *>(list) + *n * step);
            element->struct_size = step;
            copy_sized(element, describe(opened, k));
        }
        ++*n;
    }
    return *n <= room ? LW_OK : fail(LW_TOO_SMALL, "%zu kernels with variants, room for %zu", *n, room);
}

// lw_vulkan_prove: runs the golden vectors on the device twice and remembers a success next to its
// pipelines.

namespace {

Cache::Kind proof_on(const Gpu &gpu) {
    return gpu.shares_dispatches ? Cache::Kind::proof_of_chains : Cache::Kind::proof;
}

// What the cache holds of a success.
struct Proof {
    double worst = 0;
    uint8_t variants[longwave::artifact::hash_bytes] = {}; // of the kernels that computed it

    explicit Proof(const lw_model &model) { model_of(*model.on_device).pipelines.choices().hash(variants); }
};

bool remembered(const Gpu &gpu, const uint8_t *artifact, Proof *proof) {
    Block block;
    const uint8_t *data = nullptr;
    uint64_t bytes = 0;
    if (!gpu.cache.read(proof_on(gpu), artifact, gpu.allocator, &block, &data, &bytes)) return false;
    const bool good = bytes == sizeof *proof &&
                      memcmp(data + offsetof(Proof, variants), proof->variants, sizeof proof->variants) == 0;
    if (good) memcpy(&proof->worst, data, sizeof proof->worst);
    block.release(gpu.allocator);
    return good && proof->worst <= 1;
}

lw_status quarantine(const Gpu &gpu, bool unstable, const double *worst) {
    gpu.quarantined = true;
    if (unstable)
        return fail(LW_DEVICE_WRONG,
                    "%.100s is unstable: two runs of the golden vectors were %.3g and %.3g of their limits "
                    "away. The device is disabled until it is reopened: use another device or the CPU",
                    gpu.properties.deviceName, worst[0], worst[1]);
    return fail(
        LW_DEVICE_WRONG,
        "%.100s answers wrongly: %.3g of the golden vectors' limit away. The device is disabled until it "
        "is reopened: update its driver, or use another device or the CPU",
        gpu.properties.deviceName, worst[0] > worst[1] ? worst[0] : worst[1]);
}

lw_status prove(const Gpu &gpu, const lw_model *model, double *worst) {
    double away[2] = {};
    lw_status status[2] = {};
    for (int i = 0; i < 2; ++i) {
        status[i] = lw_model_verify(model, &away[i]);
        if (status[i] != LW_OK && status[i] != LW_CHECK_FAILED) return status[i];
    }
    *worst = away[0] > away[1] ? away[0] : away[1];
    if (status[0] == LW_OK && status[1] == LW_OK) return LW_OK;
    return quarantine(gpu, status[0] != status[1], away);
}

} // namespace

lw_status lw_vulkan_prove(const lw_model *model, int again, double *worst) {
    double ignored = 0;
    if (!worst) worst = &ignored;
    *worst = 0;
    if (!model || !model->asked || model->asked->calls != &vulkan::calls)
        return fail(LW_INVALID_ARGUMENT, "the model was not opened on a Vulkan device");
    const Gpu &gpu = gpu_of(model->asked);
    if (lw_status status = gpu.usable()) return status;
    const uint8_t *artifact = model->view.header().root;
    Proof proof(*model);
    if (!again && remembered(gpu, artifact, &proof)) {
        *worst = proof.worst;
        ++gpu.stats.remembered_proofs;
        return LW_OK;
    }
    ++gpu.proving; // results of the CPU would say nothing about the device
    const lw_status status = prove(gpu, model, worst);
    --gpu.proving;
    proof.worst = *worst;
    if (status == LW_OK) gpu.cache.write(proof_on(gpu), artifact, &proof, sizeof proof);
    return status;
}
