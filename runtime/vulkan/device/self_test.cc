#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/device/memory.h"
#include "runtime/vulkan/device/pipelines.h"
#include <atomic>
#include <math.h>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

constexpr uint32_t arithmetic_words[] = {
#include "runtime/vulkan/device/self_test.inc"
};
constexpr uint32_t half_words[] = {
#include "runtime/vulkan/device/self_test_half.inc"
};

// Eight terms of the sum, which plain float32 gets wrong by 1.5e-4 of it; then numbers whose
// products are tiny and infinite; from 16 on those that become float16.
constexpr float given[] = {0.1f, 1.7e-5f, 0.73f, -3.1e-6f, 0.31f, 2.9e-4f, -0.05f, 0.017f, 1e-30f, 1e-10f,
                           1e-40f, 3e38f, 10, 0, 1, 0,
                           // 1 + 1/2048 and 1 + 3/2048 are ties; the others are not
                           1.00048828125f, 1.00146484375f, 1.0005f, 65519.99f, 0.333333f, -2.71828f};
constexpr uint16_t halves[] = {0x3c00, 0x3c02, 0x3c01, 0x7bff, 0x3555, 0xc170};
constexpr uint32_t terms = 12800 * 8, n_halves = sizeof halves / sizeof *halves;

uint32_t bits(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}
float real(uint32_t word) {
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}
bool is_nan(uint32_t word) { return (word & 0x7fffffff) > 0x7f800000; }

// Null, or what is wrong.
const char *wrong_arithmetic(const uint32_t *found) {
    double exact = 0, largest = 0;
    const uint32_t of_each = terms / 8;
    for (uint32_t i = 0; i < 8; ++i) {
        exact += double{given[i]} * of_each;
        largest += fabs(double{given[i]}) * of_each;
    }
    // Compensated sums are 2e-8 of the largest away, plain ones 1.5e-4. NaN is not within.
    const double away = fabs(double{real(found[0])} + double{real(found[1])} - exact);
    if (!(away <= 1e-6 * largest)) return "a sum of 102,400 terms loses what it rounds off";
    // A device may take numbers below 2^-126 as zero. It may not make anything else of them.
    const uint32_t tiny = bits(given[8] * given[9]), held = bits(given[10]);
    if (found[2] != 0 && found[2] + 1 != tiny && found[2] != tiny && found[2] != tiny + 1)
        return "a product below 2^-126 is neither itself nor zero";
    if (found[3] != 0 && found[3] != held) return "a number below 2^-126 is neither kept nor zero";
    if (found[4] != bits(1)) return "1 and a number below 2^-126 do not add to 1";
    if (found[5] != 0x7f800000) return "a product beyond float32 is not infinite";
    if (!is_nan(found[6])) return "the difference of infinities is a number";
    if (!is_nan(found[7])) return "a product with NaN is a number";
    if (found[8] != 0) return "NaN is equal to itself";
    return nullptr;
}

struct Test {
    const Gpu &gpu;
    DeviceBuffer memory; // the numbers, then the results
    Commands commands;
    Pipeline pipeline;
    VkDescriptorPool pool = VK_NULL_HANDLE;

    static constexpr uint64_t found_at = 256, bytes = 512;

    const uint8_t *found() const { return memory.data + found_at; }

    lw_status run(const uint32_t *words, uint64_t size) {
        pipeline.buffers = 2;
        const artifact::Bytes code{reinterpret_cast<const uint8_t *>(words), size};
        if (lw_status status = create_pipeline(gpu, code, "main", VK_NULL_HANDLE, pipeline)) return status;
        VkDescriptorSet set = VK_NULL_HANDLE;
        if (lw_status status = create_set(&set)) return status;
        memcpy(memory.data, given, sizeof given);
        memset(memory.data + found_at, 0xaa, bytes - found_at);
        if (lw_status status = commands.begin(gpu, true)) return status;
        gpu.vk.vkCmdBindPipeline(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
        gpu.vk.vkCmdBindDescriptorSets(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                       &set, 0, nullptr);
        gpu.vk.vkCmdDispatch(commands.buffer, 1, 1, 1);
        barrier(gpu, commands.buffer, VK_ACCESS_HOST_READ_BIT);
        if (lw_status status = commands.end(gpu)) return status;
        return commands.submit(gpu);
    }

    lw_status create_set(VkDescriptorSet *set) {
        const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
        VkDescriptorPoolCreateInfo pools{};
        pools.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        pools.maxSets = 1;
        pools.poolSizeCount = 1;
        pools.pPoolSizes = &size;
        LW_VK(gpu.vk, vkCreateDescriptorPool, gpu.device, &pools, nullptr, &pool);
        VkDescriptorSetAllocateInfo sets{};
        sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        sets.descriptorPool = pool;
        sets.descriptorSetCount = 1;
        sets.pSetLayouts = &pipeline.set;
        LW_VK(gpu.vk, vkAllocateDescriptorSets, gpu.device, &sets, set);
        const VkDescriptorBufferInfo buffers[] = {{memory.buffer, 0, found_at},
                                                  {memory.buffer, found_at, bytes - found_at}};
        VkWriteDescriptorSet writes[2] = {};
        for (uint32_t b = 0; b < 2; ++b) {
            writes[b].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
            writes[b].dstSet = *set;
            writes[b].dstBinding = b;
            writes[b].descriptorCount = 1;
            writes[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            writes[b].pBufferInfo = buffers + b;
        }
        gpu.vk.vkUpdateDescriptorSets(gpu.device, 2, writes, 0, nullptr);
        return LW_OK;
    }

    // What belongs to one module.
    void end_run() {
        if (pool && !gpu.leaked) gpu.vk.vkDestroyDescriptorPool(gpu.device, pool, nullptr);
        pool = VK_NULL_HANDLE;
        if (!gpu.leaked) destroy_pipeline(gpu, pipeline);
    }
};

lw_status test_all(Gpu &gpu, Test &test, bool *rounds) {
    if (lw_status status = test.memory.create(gpu, Test::bytes, DeviceBuffer::Where::host, "the self-test"))
        return status;
    if (lw_status status = test.commands.create(gpu)) return status;
    lw_status status = test.run(arithmetic_words, sizeof arithmetic_words);
    uint32_t found[9];
    if (status == LW_OK) memcpy(found, test.found(), sizeof found);
    test.end_run();
    if (status != LW_OK) return status;
    if (const char *why = wrong_arithmetic(found))
        return fail(LW_DEVICE_WRONG,
                    "%.100s computes wrongly: %s. Update its driver, or use another device or the CPU",
                    gpu.properties.deviceName, why);
    if (!gpu.storage_16) return LW_OK;
    status = test.run(half_words, sizeof half_words);
    *rounds = status == LW_OK && memcmp(test.found(), halves, n_halves * sizeof *halves) == 0;
    test.end_run();
    return status;
}

// The devices that this process found sound, by hash. The lowest bit: they round float16 to
// nearest.
constexpr uint32_t most_known = 16;
std::atomic<uint64_t> known[most_known];

// FNV-1a of what tells drivers and devices apart. The two lowest bits are free.
uint64_t identity_of(const VkPhysicalDeviceProperties &properties) {
    uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](const void *bytes, size_t n) {
        for (size_t i = 0; i < n; ++i) hash = (hash ^ static_cast<const uint8_t *>(bytes)[i]) * 0x100000001b3;
    };
    add(properties.pipelineCacheUUID, sizeof properties.pipelineCacheUUID);
    add(&properties.vendorID, sizeof properties.vendorID);
    add(&properties.deviceID, sizeof properties.deviceID);
    add(&properties.driverVersion, sizeof properties.driverVersion);
    return (hash | 4) & ~uint64_t{3};
}

bool is_known(uint64_t identity, bool *rounds) {
    for (const std::atomic<uint64_t> &one : known) {
        const uint64_t found = one.load(std::memory_order_relaxed);
        if ((found & ~uint64_t{3}) != identity) continue;
        *rounds = (found & 1) != 0;
        return true;
    }
    return false;
}

void remember(uint64_t identity, bool rounds) {
    for (std::atomic<uint64_t> &one : known) {
        uint64_t empty = 0;
        if (one.compare_exchange_strong(empty, identity | rounds)) return;
    }
}

} // namespace

lw_status self_test(Gpu &gpu) {
    const uint64_t identity = identity_of(gpu.properties) ^ (gpu.storage_16 ? 8 : 0);
    if (is_known(identity, &gpu.rounds_float16)) return LW_OK;
    Test test{gpu, {}, {}, {}, VK_NULL_HANDLE};
    const lw_status status = test_all(gpu, test, &gpu.rounds_float16);
    test.commands.destroy(gpu);
    test.memory.destroy(gpu);
    if (status == LW_OK) remember(identity, gpu.rounds_float16);
    return status;
}

} // namespace longwave::runtime::vulkan
