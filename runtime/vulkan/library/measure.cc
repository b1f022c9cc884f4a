// What the memory and a dispatch of a device cost, for the planner (docs/gpu.md). One kernel copies
// the first half of a buffer to the second half.
#include "runtime/core/model.h"
#include "runtime/platform/clock.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/device/memory.h"
#include "runtime/vulkan/device/pipelines.h"
#include "runtime/vulkan/device/variant_timer.h"
#include "runtime/vulkan/library/calls.h"

using namespace longwave::runtime;
using namespace longwave::runtime::vulkan;

namespace {

constexpr uint32_t copy_words[] = {
#include "runtime/vulkan/library/copy.inc"
};

// Half a buffer. Both halves are larger than the caches of GPUs. A software device copies with the
// cores and the caches of a CPU, which are slower and smaller.
constexpr uint64_t most_bytes = 128 << 20, most_software_bytes = 32 << 20, least_bytes = 4 << 20;
constexpr uint32_t most_workgroups = 4096;
constexpr uint32_t sizes = 13;                         // 1, 2, 4 … most_workgroups
constexpr uint32_t most_rounds = 5;                    // the shortest counts: other work only adds to a time
constexpr uint32_t dispatches = 257, most_copies = 16; // in a row
// As many copies as take this long, so that the start of the device does not count.
constexpr double row_ns = 2e6;
// Then each further time is measured once.
constexpr double enough_ns = 2e9, enough_software_ns = 8e9;
constexpr double busy_share = 0.9; // of the best rate
// So far below the best rate fewer workgroups are no longer of interest.
constexpr double idle_share = 0.5;

double now_ns() { return static_cast<double>(longwave::platform::clock_ns()); }

class Measurement {
public:
    explicit Measurement(const Gpu &gpu)
        : gpu_(gpu), software_(gpu.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU), start_(now_ns()) {}

    lw_status start() {
        if (lw_status status = allocate()) return status;
        if (lw_status status = commands_.create(gpu_)) return status;
        pipeline_.buffers = 2;
        const longwave::artifact::Bytes code{reinterpret_cast<const uint8_t *>(copy_words),
                                             sizeof copy_words};
        if (lw_status status = create_pipeline(gpu_, code, "main", VK_NULL_HANDLE, pipeline_)) return status;
        if (lw_status status = create_sets()) return status;
        if (has_timestamps(gpu_)) {
            if (lw_status status = clock_.create(gpu_, 1)) return status;
            has_clock_ = true;
        }
        return warm_up();
    }

    lw_status measure(lw_vulkan_costs *found) {
        found->device_clock = has_clock_;
        if (lw_status status = measure_copies(found)) return status;
        if (lw_status status = each(tiny_, 1, dispatches, true, &found->ns_per_dispatch)) return status;
        const double ns = found->ns_per_dispatch, rate = found->bytes_per_ns;
        if (ns > 0 && ns < largest && rate > 0 && rate < largest) return LW_OK;
        return fail(LW_DEVICE, "the clock of %.120s stands still", gpu_.properties.deviceName);
    }

    void stop() {
        commands_.destroy(gpu_); // waits for what may still run
        if (!gpu_.leaked) {
            if (pool_) gpu_.vk.vkDestroyDescriptorPool(gpu_.device, pool_, nullptr);
            destroy_pipeline(gpu_, pipeline_);
        }
        clock_.destroy(gpu_);
        memory_.destroy(gpu_);
    }

private:
    static constexpr double largest = 1e300; // beyond it lie infinity and NaN

    uint64_t wanted_bytes() const {
        uint64_t most = software_ ? most_software_bytes : most_bytes, heap = 0;
        for (uint32_t h = 0; h < gpu_.memory.memoryHeapCount; ++h)
            if (gpu_.memory.memoryHeaps[h].size > heap) heap = gpu_.memory.memoryHeaps[h].size;
        // Both halves take at most a quarter of the memory.
        while (most > least_bytes && (most > heap / 8 || most > gpu_.limits.maxStorageBufferRange)) most /= 2;
        return most;
    }
    lw_status allocate() {
        for (bytes_ = wanted_bytes();; bytes_ /= 2) {
            const lw_status status =
                memory_.create(gpu_, 2 * bytes_, DeviceBuffer::Where::device, "the measurement");
            if (status != LW_NO_MEMORY || bytes_ / 2 < least_bytes) return status;
            memory_.destroy(gpu_);
        }
    }

    // One set copies half the buffer, the other 64 bytes.
    lw_status create_sets() {
        const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4};
        VkDescriptorPoolCreateInfo pools{};
        pools.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        pools.maxSets = 2;
        pools.poolSizeCount = 1;
        pools.pPoolSizes = &size;
        LW_VK(gpu_.vk, vkCreateDescriptorPool, gpu_.device, &pools, nullptr, &pool_);
        if (lw_status status = create_set(bytes_, &large_)) return status;
        return create_set(64, &tiny_);
    }
    lw_status create_set(uint64_t bytes, VkDescriptorSet *set) {
        VkDescriptorSetAllocateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        info.descriptorPool = pool_;
        info.descriptorSetCount = 1;
        info.pSetLayouts = &pipeline_.set;
        LW_VK(gpu_.vk, vkAllocateDescriptorSets, gpu_.device, &info, set);
        const VkDescriptorBufferInfo buffers[] = {{memory_.buffer, 0, bytes},
                                                  {memory_.buffer, bytes_, bytes}};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = *set;
        write.descriptorCount = 2; // bindings 0 and 1
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = buffers;
        gpu_.vk.vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
        return LW_OK;
    }

    // Memory that nobody wrote may have no pages of its own.
    lw_status warm_up() {
        if (lw_status status = commands_.begin(gpu_, true)) return status;
        gpu_.vk.vkCmdFillBuffer(commands_.buffer, memory_.buffer, 0, VK_WHOLE_SIZE, 0x3f8ccccd);
        barrier(gpu_, commands_.buffer);
        if (lw_status status = commands_.end(gpu_)) return status;
        if (lw_status status = commands_.submit(gpu_)) return status;
        double ns = 0;
        if (lw_status status = run(large_, most_workgroups, 1, 1, &ns)) return status;
        while (copies_ < most_copies && copies_ * ns < row_ns) ++copies_;
        return LW_OK;
    }

    // The shortest of `times` runs of n dispatches, each with its barrier.
    lw_status run(VkDescriptorSet set, uint32_t workgroups, uint32_t n, uint32_t times, double *shortest) {
        if (lw_status status = commands_.begin(gpu_, false)) return status;
        if (has_clock_) clock_.begin(gpu_, commands_.buffer, 0);
        gpu_.vk.vkCmdBindPipeline(commands_.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_.pipeline);
        gpu_.vk.vkCmdBindDescriptorSets(commands_.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_.layout, 0,
                                        1, &set, 0, nullptr);
        for (uint32_t i = 0; i < n; ++i) {
            gpu_.vk.vkCmdDispatch(commands_.buffer, workgroups, 1, 1);
            barrier(gpu_, commands_.buffer);
        }
        if (has_clock_) clock_.end(gpu_, commands_.buffer, 0);
        if (lw_status status = commands_.end(gpu_)) return status;
        const double enough = software_ ? enough_software_ns : enough_ns;
        for (uint32_t i = 0; i < times && (i == 0 || now_ns() - start_ < enough); ++i) {
            const double before = now_ns();
            if (lw_status status = commands_.submit(gpu_)) return status;
            double took = now_ns() - before;
            if (has_clock_)
                if (lw_status status = clock_.elapsed(gpu_, 0, &took)) return status;
            if (i == 0 || took < *shortest) *shortest = took;
        }
        return LW_OK;
    }

    // ns of one dispatch of n in a row. `apart`: without what the first one takes in addition. That
    // is the submission by the host's clock, and the start of the device by its own.
    lw_status each(VkDescriptorSet set, uint32_t workgroups, uint32_t n, bool apart, double *ns) {
        double one = 0, several = 0;
        if (lw_status status = run(set, workgroups, n, most_rounds, &several)) return status;
        *ns = several / n;
        if (!apart) return LW_OK;
        if (lw_status status = run(set, workgroups, 1, most_rounds, &one)) return status;
        if (several > one) *ns = (several - one) / (n - 1);
        return LW_OK;
    }

    // From many workgroups to few, which take long.
    lw_status measure_copies(lw_vulkan_costs *found) {
        double rates[sizes] = {}, best = 0;
        for (uint32_t s = sizes; s-- > 0;) {
            double ns = 0;
            if (lw_status status = each(large_, 1u << s, copies_, !has_clock_, &ns)) return status;
            rates[s] = ns > 0 ? 2 * static_cast<double>(bytes_) / ns : 0;
            if (rates[s] > best) best = rates[s];
            if (rates[s] < idle_share * best) break;
        }
        found->bytes_per_ns = best;
        for (uint32_t s = 0; s < sizes && found->busy_workgroups == 0; ++s)
            if (rates[s] >= busy_share * best) found->busy_workgroups = 1u << s;
        return LW_OK;
    }

    const Gpu &gpu_;
    const bool software_;
    const double start_;
    uint64_t bytes_ = 0; // of a half
    uint32_t copies_ = 2;
    bool has_clock_ = false;
    DeviceBuffer memory_;
    Commands commands_;
    Pipeline pipeline_;
    Timestamps clock_;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkDescriptorSet large_ = VK_NULL_HANDLE, tiny_ = VK_NULL_HANDLE;
};

} // namespace

lw_status lw_vulkan_measure(const lw_device *device, lw_vulkan_costs *costs) {
    if (!device || device->calls != &vulkan::calls)
        return fail(LW_INVALID_ARGUMENT, "device is NULL or not of Vulkan");
    if (!costs || costs->struct_size < sizeof costs->struct_size)
        return fail(LW_INVALID_ARGUMENT, "costs is NULL or its struct_size is not set");
    lw_vulkan_costs found{};
    Measurement measurement(gpu_of(device));
    lw_status status = measurement.start();
    if (status == LW_OK) status = measurement.measure(&found);
    measurement.stop();
    if (status == LW_OK) copy_sized(costs, found);
    return status;
}
