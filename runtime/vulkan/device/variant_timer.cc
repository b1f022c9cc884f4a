#include "runtime/vulkan/device/variant_timer.h"
#include "formats/artifact/geometry.h"
#include "runtime/platform/clock.h"
#include "runtime/vulkan/device/gpu.h"
#include <algorithm>

namespace longwave::runtime::vulkan {
namespace {

constexpr uint64_t most_argument_bytes = 128u << 20; // of the arguments of a kernel
constexpr uint64_t blank_bytes = 4096; // half for tables and scalars, half for the word of overflows
constexpr double budget_us = 5e6;      // for all kernels of a model, by the host's clock
constexpr double enough_us = 200;      // of a command buffer: far above the clock's resolution
constexpr uint32_t most_dispatches = 64, rounds = 5;
constexpr double clearly_faster = 0.97;
// float32 0.0078, float16 1.0: no denormals, which some devices compute slowly.
constexpr uint32_t pattern = 0x3c003c00;

double host_us() { return static_cast<double>(platform::clock_ns()) * 1e-3; }

uint64_t span_of(const fb::KernelArg &arg) {
    uint64_t bytes = 0;
    if (arg.kind() == fb::ArgKind::scalar || !artifact::span_bytes(arg, &bytes)) return 0;
    return to_line(bytes);
}

uint64_t bytes_of(const fb::Kernel &kernel) {
    uint64_t bytes = 0;
    for (const fb::KernelArg *arg : *kernel.args()) bytes += span_of(*arg);
    return bytes;
}

} // namespace

uint64_t timer_bytes(const fb::Plan &plan) {
    uint64_t most = 0;
    for (const fb::Entry *entry : *plan.entries())
        for (const auto *steps : {entry->steps(), entry->rebuild()})
            for (uint32_t i = 0; of_gpu(*entry) && i < artifact::count(steps); ++i) {
                const fb::Step &step = *steps->Get(i);
                if (step.kind() != fb::StepKind::call || step.cpu()) continue;
                const uint64_t bytes = bytes_of(*plan.kernels()->Get(step.kernel()));
                if (bytes <= most_argument_bytes && bytes > most) most = bytes;
            }
    return blank_bytes + most;
}

VariantTimer::~VariantTimer() {
    commands_.destroy(gpu_);
    clock_.destroy(gpu_);
    if (pool_ && !gpu_.leaked) gpu_.vk.vkDestroyDescriptorPool(gpu_.device, pool_, nullptr);
    memory_.destroy(gpu_);
}

lw_status VariantTimer::start() {
    if (lw_status status =
            memory_.create(gpu_, timer_bytes(plan_), DeviceBuffer::Where::device, "timing kernels"))
        return status;
    if (lw_status status = commands_.create(gpu_)) return status;
    if (lw_status status = commands_.allocate(gpu_, artifact::most_variants, buffers_)) return status;
    if (lw_status status = clock_.create(gpu_, 1)) return status;
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 64 * artifact::most_variants}; // V21
    VkDescriptorPoolCreateInfo pools{};
    pools.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pools.maxSets = artifact::most_variants;
    pools.poolSizeCount = 1;
    pools.pPoolSizes = &size;
    LW_VK(gpu_.vk, vkCreateDescriptorPool, gpu_.device, &pools, nullptr, &pool_);
    if (lw_status status = commands_.begin(gpu_, true)) return status;
    gpu_.vk.vkCmdFillBuffer(commands_.buffer, memory_.buffer, 0, blank_bytes, 0);
    if (memory_.bytes > blank_bytes)
        gpu_.vk.vkCmdFillBuffer(commands_.buffer, memory_.buffer, blank_bytes, memory_.bytes - blank_bytes,
                                pattern);
    barrier(gpu_, commands_.buffer);
    if (lw_status status = commands_.end(gpu_)) return status;
    if (lw_status status = commands_.submit(gpu_)) return status;
    started_ = true;
    return LW_OK;
}

lw_status VariantTimer::choose(uint32_t kernel, Choice *choice) {
    *choice = {};
    if (bytes_of(*plan_.kernels()->Get(kernel)) > most_argument_bytes || spent_us_ > budget_us ||
        !has_timestamps(gpu_))
        return LW_OK;
    if (!started_ && !short_of_memory_) {
        const lw_status status = start();
        short_of_memory_ = status == LW_NO_MEMORY; // the model itself may still fit
        if (status != LW_OK && !short_of_memory_) return status;
    }
    if (short_of_memory_) return LW_OK;
    const double begin = host_us();
    Candidate list[artifact::most_variants];
    uint32_t n = 0;
    lw_status status = compile_all(kernel, list, &n);
    if (status == LW_OK && n > 1) status = time_all(kernel, list, n);
    for (Candidate &candidate : list)
        if (!gpu_.leaked) destroy_pipeline(gpu_, candidate.pipeline);
    if (!gpu_.leaked) gpu_.vk.vkResetDescriptorPool(gpu_.device, pool_, 0);
    spent_us_ += host_us() - begin;
    if (status != LW_OK || n < 2) return status;
    choice->number = list[0].number;
    double least = list[0].us * clearly_faster;
    for (uint32_t i = 0; i < n; ++i) {
        choice->us[list[i].number] = static_cast<float>(list[i].us);
        if (list[i].us >= least) continue;
        least = list[i].us;
        choice->number = list[i].number;
    }
    return LW_OK;
}

// Leaves out what the device cannot dispatch and what its driver rejects.
lw_status VariantTimer::compile_all(uint32_t kernel, Candidate *list, uint32_t *n) {
    for (uint32_t v = 0; v < modules_.variants_of(kernel); ++v) {
        const fb::Module &module = modules_.variant(kernel, v);
        if (!dispatch_fits(gpu_, module)) continue;
        Candidate &candidate = list[*n];
        candidate.number = v;
        candidate.commands = buffers_[*n];
        candidate.pipeline.module = &module;
        candidate.pipeline.buffers = descriptors_of(module);
        const lw_status status =
            create_pipeline(gpu_, modules_.code(module), module.entry()->c_str(), cache_, candidate.pipeline);
        if (status != LW_OK && status != LW_DEVICE) return status;
        if (status == LW_OK) ++*n;
        else destroy_pipeline(gpu_, candidate.pipeline);
    }
    return LW_OK;
}

// The shortest of several rounds counts. Rounds take turns, so that clocks that rise or fall
// favour none.
lw_status VariantTimer::time_all(uint32_t kernel, Candidate *list, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
        double us = 0;
        if (lw_status status = bind(*plan_.kernels()->Get(kernel), list[i])) return status;
        if (lw_status status = record(list[i])) return status;
        for (uint32_t warm = 0; warm < 2;
             ++warm) // the first makes caches warm, and some drivers compile in it
            if (lw_status status = time_once(list[i], &us)) return status;
        list[i].dispatches = us * most_dispatches > enough_us
                                 ? 1 + static_cast<uint32_t>(enough_us / std::max(us, 1e-3))
                                 : most_dispatches;
        if (lw_status status = record(list[i])) return status;
    }
    for (uint32_t round = 0; round < rounds; ++round)
        for (uint32_t i = 0; i < n; ++i) {
            double us = 0;
            if (lw_status status = time_once(list[i], &us)) return status;
            if (round == 0 || us < list[i].us) list[i].us = us;
        }
    return LW_OK;
}

lw_status VariantTimer::bind(const fb::Kernel &kernel, Candidate &candidate) {
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = pool_;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &candidate.pipeline.set;
    LW_VK(gpu_.vk, vkAllocateDescriptorSets, gpu_.device, &info, &candidate.set);
    VkDescriptorBufferInfo buffers[64]; // V21
    for (VkDescriptorBufferInfo &buffer : buffers) buffer = {memory_.buffer, 0, blank_bytes / 2};
    if (const uint32_t word = candidate.pipeline.module->overflow(); word != artifact::unbound)
        buffers[word] = {memory_.buffer, blank_bytes / 2, blank_bytes / 2};
    uint64_t at = blank_bytes;
    for (uint32_t a = 0; a < kernel.args()->size(); ++a) {
        const uint64_t bytes = span_of(*kernel.args()->Get(a));
        const uint32_t binding = candidate.pipeline.module->bindings()->Get(a);
        if (bytes > 0 && binding != artifact::unbound) buffers[binding] = {memory_.buffer, at, bytes};
        at += bytes;
    }
    VkWriteDescriptorSet writes[64] = {};
    for (uint32_t b = 0; b < candidate.pipeline.buffers; ++b) {
        writes[b].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[b].dstSet = candidate.set;
        writes[b].dstBinding = b;
        writes[b].descriptorCount = 1;
        writes[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[b].pBufferInfo = buffers + b;
    }
    gpu_.vk.vkUpdateDescriptorSets(gpu_.device, candidate.pipeline.buffers, writes, 0, nullptr);
    return LW_OK;
}

lw_status VariantTimer::record(Candidate &candidate) {
    const VkCommandBuffer commands = candidate.commands;
    const Pipeline &pipeline = candidate.pipeline;
    const fb::Extent3 &grid = *pipeline.module->grid();
    if (lw_status status = begin(gpu_, commands, false)) return status;
    gpu_.vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    gpu_.vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                    &candidate.set, 0, nullptr);
    barrier(gpu_, commands);
    clock_.begin(gpu_, commands, 0);
    for (uint32_t i = 0; i < candidate.dispatches; ++i) {
        gpu_.vk.vkCmdDispatch(commands, grid.x(), grid.y(), grid.z());
        barrier(gpu_, commands);
    }
    clock_.end(gpu_, commands, 0);
    return end(gpu_, commands);
}

lw_status VariantTimer::time_once(Candidate &candidate, double *us) {
    if (lw_status status = commands_.submit(gpu_, candidate.commands)) return status;
    double ns = 0;
    if (lw_status status = clock_.elapsed(gpu_, 0, &ns)) return status;
    *us = ns * 1e-3 / candidate.dispatches;
    return LW_OK;
}

namespace {

// 0: the queue has no clock.
uint32_t valid_bits(const Gpu &gpu) {
    VkQueueFamilyProperties families[64]; // as many as the queue was chosen from (gpu.cc)
    uint32_t n = sizeof families / sizeof *families;
    gpu.vk.vkGetPhysicalDeviceQueueFamilyProperties(gpu.physical, &n, families);
    return gpu.queue_family < n && gpu.limits.timestampPeriod > 0
               ? families[gpu.queue_family].timestampValidBits
               : 0;
}

} // namespace

bool has_timestamps(const Gpu &gpu) { return valid_bits(gpu) > 0; }

lw_status Timestamps::create(const Gpu &gpu, uint32_t spans) {
    const uint32_t bits = valid_bits(gpu);
    if (bits == 0)
        return fail(LW_UNSUPPORTED, "the queue of %.120s has no timestamps", gpu.properties.deviceName);
    mask_ = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2 * spans;
    LW_VK(gpu.vk, vkCreateQueryPool, gpu.device, &info, nullptr, &pool_);
    return LW_OK;
}

void Timestamps::destroy(const Gpu &gpu) {
    if (gpu.leaked) return;
    if (pool_) gpu.vk.vkDestroyQueryPool(gpu.device, pool_, nullptr);
    *this = {};
}

void Timestamps::begin(const Gpu &gpu, VkCommandBuffer commands, uint32_t span) const {
    gpu.vk.vkCmdResetQueryPool(commands, pool_, 2 * span, 2);
    gpu.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, 2 * span);
}

void Timestamps::end(const Gpu &gpu, VkCommandBuffer commands, uint32_t span) const {
    gpu.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, 2 * span + 1);
}

lw_status Timestamps::elapsed(const Gpu &gpu, uint32_t span, double *ns) const {
    uint64_t at[2] = {};
    LW_VK(gpu.vk, vkGetQueryPoolResults, gpu.device, pool_, 2 * span, 2, sizeof at, at, sizeof *at,
          VK_QUERY_RESULT_64_BIT);
    *ns = static_cast<double>((at[1] - at[0]) & mask_) * double{gpu.limits.timestampPeriod};
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
