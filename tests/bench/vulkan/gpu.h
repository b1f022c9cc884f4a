// A GPU for benchmarks: buffers of its own memory, dispatches in one command buffer, and its own
// clock. Not what runs models (runtime/vulkan), so that peers and we are timed by the same few
// lines.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>
#include <vulkan/vulkan.h>

namespace longwave::bench {

class Gpu {
public:
    // The best device there is, or the one with that number. Fault::device.
    static Expected<Gpu> open(int number = -1);
    Gpu(Gpu &&other) noexcept { std::swap(state_, other.state_); }
    Gpu &operator=(Gpu &&) = delete;
    ~Gpu();

    struct Buffer {
        VkBuffer buffer = VK_NULL_HANDLE;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        uint64_t bytes = 0;
    };
    // All buffers and pipelines live as long as the device.
    Expected<Buffer> buffer(uint64_t bytes);
    Status upload(const Buffer &to, std::span<const float> values);
    Status upload(const Buffer &to, std::span<const int32_t> values);
    Status download(const Buffer &from, std::span<float> values);

    struct Kernel {
        VkPipeline pipeline = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
        uint32_t bindings = 0;
    };
    Expected<Kernel> kernel(std::span<const uint32_t> spirv, const std::string &entry, uint32_t bindings);
    Expected<Kernel> kernel_of_glsl(const std::string &source, uint32_t bindings);

    // Buffers in the order of the bindings; an offset in bytes each.
    struct Bound {
        Buffer buffer;
        uint64_t offset = 0;
    };
    struct Dispatch {
        Kernel kernel;
        VkDescriptorSet set = VK_NULL_HANDLE;
        uint32_t grid[3] = {1, 1, 1};
    };
    Expected<Dispatch> bind(const Kernel &kernel, std::span<const Bound> buffers, uint32_t x, uint32_t y,
                            uint32_t z);
    static void record(VkCommandBuffer commands, const Dispatch &dispatch);
    static void barrier(VkCommandBuffer commands); // what is before is seen by what is behind

    using Record = std::function<Status(VkCommandBuffer)>;
    Status run(const Record &record); // once
    // Seconds per call, by the clock of the device.
    struct Times {
        double median = 0, least = 0, most = 0;
    };
    // Of `repeats` submissions of `calls` calls each, with a barrier between calls.
    Expected<Times> time(const Record &record, unsigned calls, unsigned repeats);

    bool software() const;
    const std::string &name() const;

    // For VkFFT.
    VkPhysicalDevice *physical();
    VkDevice *device();
    VkQueue *queue();
    VkCommandPool *pool();
    VkFence *fence();

private:
    struct State;
    Gpu() = default;
    State *state_ = nullptr;
};

} // namespace longwave::bench
