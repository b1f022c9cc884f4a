#include "tests/bench/vulkan/gpu.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>

namespace longwave::bench {

struct Gpu::State {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    VkQueryPool clock = VK_NULL_HANDLE;
    VkDescriptorPool sets = VK_NULL_HANDLE;
    VkPhysicalDeviceProperties properties{};
    VkPhysicalDeviceMemoryProperties memory{};
    uint32_t family = 0;
    std::string name;
    Buffer staging;
    float *mapped = nullptr;
    std::vector<Buffer> buffers;
    std::vector<Kernel> kernels;
};

namespace {

constexpr uint64_t staging_bytes = 64u << 20, most_wait_ns = 120'000'000'000;

Status check(VkResult result, const char *call) {
    return result == VK_SUCCESS ? Status() : Status::device(fmt::format("{} failed: {}", call, int(result)));
}

int score(VkPhysicalDeviceType type) {
    return type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU     ? 4
           : type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? 3
           : type == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU    ? 2
                                                            : 1;
}

} // namespace

#define TRY_VK(call, ...) LW_TRY(check(call(__VA_ARGS__), #call))

Expected<Gpu> Gpu::open(int number) {
    Gpu gpu;
    gpu.state_ = new State;
    State &s = *gpu.state_;
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo instance{};
    instance.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance.pApplicationInfo = &application;
    TRY_VK(vkCreateInstance, &instance, nullptr, &s.instance);
    VkPhysicalDevice found[16];
    uint32_t n = std::size(found);
    const VkResult listed = vkEnumeratePhysicalDevices(s.instance, &n, found);
    if (listed != VK_INCOMPLETE) LW_TRY(check(listed, "vkEnumeratePhysicalDevices"));
    int best = 0;
    for (uint32_t i = 0; i < n; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(found[i], &properties);
        if (number >= 0 ? number != static_cast<int>(i) : score(properties.deviceType) <= best) continue;
        best = score(properties.deviceType), s.physical = found[i], s.properties = properties;
    }
    if (!s.physical) return Status::device("Vulkan finds no such device: is a driver installed?");
    s.name = s.properties.deviceName;
    vkGetPhysicalDeviceMemoryProperties(s.physical, &s.memory);
    VkQueueFamilyProperties families[16];
    uint32_t n_families = std::size(families);
    vkGetPhysicalDeviceQueueFamilyProperties(s.physical, &n_families, families);
    while (s.family < n_families && !(families[s.family].queueFlags & VK_QUEUE_COMPUTE_BIT)) s.family++;
    if (s.family == n_families) return Status::device(s.name + " has no queue that computes");
    if (families[s.family].timestampValidBits == 0) return Status::device(s.name + " has no clock");
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = s.family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo device{};
    device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    TRY_VK(vkCreateDevice, s.physical, &device, nullptr, &s.device);
    vkGetDeviceQueue(s.device, s.family, 0, &s.queue);
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = s.family;
    TRY_VK(vkCreateCommandPool, s.device, &pool, nullptr, &s.pool);
    VkCommandBufferAllocateInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = s.pool;
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    TRY_VK(vkAllocateCommandBuffers, s.device, &commands, &s.commands);
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    TRY_VK(vkCreateFence, s.device, &fence, nullptr, &s.fence);
    VkQueryPoolCreateInfo clock{};
    clock.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    clock.queryType = VK_QUERY_TYPE_TIMESTAMP;
    clock.queryCount = 2;
    TRY_VK(vkCreateQueryPool, s.device, &clock, nullptr, &s.clock);
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1 << 16};
    VkDescriptorPoolCreateInfo sets{};
    sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    sets.maxSets = 1 << 13;
    sets.poolSizeCount = 1;
    sets.pPoolSizes = &size;
    TRY_VK(vkCreateDescriptorPool, s.device, &sets, nullptr, &s.sets);
    glslang_initialize_process();
    return gpu;
}

Gpu::~Gpu() {
    if (!state_) return;
    State &s = *state_;
    if (s.device) {
        vkDeviceWaitIdle(s.device);
        for (const Kernel &k : s.kernels) {
            vkDestroyPipeline(s.device, k.pipeline, nullptr);
            vkDestroyPipelineLayout(s.device, k.layout, nullptr);
            vkDestroyDescriptorSetLayout(s.device, k.set_layout, nullptr);
        }
        s.buffers.push_back(s.staging);
        for (const Buffer &b : s.buffers) {
            vkDestroyBuffer(s.device, b.buffer, nullptr);
            vkFreeMemory(s.device, b.memory, nullptr);
        }
        vkDestroyDescriptorPool(s.device, s.sets, nullptr);
        vkDestroyQueryPool(s.device, s.clock, nullptr);
        vkDestroyFence(s.device, s.fence, nullptr);
        vkDestroyCommandPool(s.device, s.pool, nullptr);
        vkDestroyDevice(s.device, nullptr);
    }
    if (s.instance) vkDestroyInstance(s.instance, nullptr);
    delete state_;
}

static Status allocate(VkDevice device, const VkPhysicalDeviceMemoryProperties &memory,
                       VkMemoryPropertyFlags wanted, uint64_t bytes, Gpu::Buffer &made) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = made.bytes = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    TRY_VK(vkCreateBuffer, device, &info, nullptr, &made.buffer);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, made.buffer, &needs);
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    while (allocation.memoryTypeIndex < memory.memoryTypeCount &&
           (!(needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) ||
            (memory.memoryTypes[allocation.memoryTypeIndex].propertyFlags & wanted) != wanted))
        allocation.memoryTypeIndex++;
    if (allocation.memoryTypeIndex == memory.memoryTypeCount) return Status::device("no memory of that kind");
    TRY_VK(vkAllocateMemory, device, &allocation, nullptr, &made.memory);
    return check(vkBindBufferMemory(device, made.buffer, made.memory, 0), "vkBindBufferMemory");
}

Expected<Gpu::Buffer> Gpu::buffer(uint64_t bytes) {
    Buffer made;
    const Status status =
        allocate(state_->device, state_->memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, bytes, made);
    state_->buffers.push_back(made);
    if (!status) return status;
    return made;
}

// Through a staging buffer, made at first use; `copy` moves a piece between the caller and it.
static Status in_pieces(uint64_t bytes, const std::function<Status(uint64_t at, uint64_t piece)> &copy) {
    for (uint64_t at = 0; at < bytes; at += staging_bytes)
        LW_TRY(copy(at, std::min(staging_bytes, bytes - at)));
    return {};
}

Status Gpu::upload(const Buffer &to, std::span<const float> values) {
    State &s = *state_;
    if (!s.mapped) {
        LW_TRY(allocate(s.device, s.memory,
                        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                        staging_bytes, s.staging));
        TRY_VK(vkMapMemory, s.device, s.staging.memory, 0, VK_WHOLE_SIZE, 0,
               reinterpret_cast<void **>(&s.mapped));
    }
    return in_pieces(values.size_bytes(), [&](uint64_t at, uint64_t piece) {
        std::memcpy(s.mapped, values.data() + at / 4, piece);
        return run([&](VkCommandBuffer commands) {
            const VkBufferCopy copy{0, at, piece};
            vkCmdCopyBuffer(commands, s.staging.buffer, to.buffer, 1, &copy);
            return Status();
        });
    });
}

Status Gpu::upload(const Buffer &to, std::span<const int32_t> values) {
    std::vector<float> bits(values.size());
    std::memcpy(bits.data(), values.data(), values.size_bytes());
    return upload(to, bits);
}

Status Gpu::download(const Buffer &from, std::span<float> values) {
    State &s = *state_;
    return in_pieces(values.size_bytes(), [&](uint64_t at, uint64_t piece) {
        LW_TRY(run([&](VkCommandBuffer commands) {
            const VkBufferCopy copy{at, 0, piece};
            vkCmdCopyBuffer(commands, from.buffer, s.staging.buffer, 1, &copy);
            return Status();
        }));
        std::memcpy(values.data() + at / 4, s.mapped, piece);
        return Status();
    });
}

Expected<Gpu::Kernel> Gpu::kernel(std::span<const uint32_t> spirv, const std::string &entry,
                                  uint32_t bindings) {
    State &s = *state_;
    Kernel made;
    made.bindings = bindings;
    std::vector<VkDescriptorSetLayoutBinding> each(bindings);
    for (uint32_t b = 0; b < bindings; b++)
        each[b] = {b, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = bindings;
    set.pBindings = each.data();
    TRY_VK(vkCreateDescriptorSetLayout, s.device, &set, nullptr, &made.set_layout);
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &made.set_layout;
    TRY_VK(vkCreatePipelineLayout, s.device, &layout, nullptr, &made.layout);
    VkShaderModuleCreateInfo module{};
    module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module.codeSize = spirv.size_bytes();
    module.pCode = spirv.data();
    VkComputePipelineCreateInfo pipeline{};
    pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    pipeline.stage.pName = entry.c_str();
    pipeline.layout = made.layout;
    TRY_VK(vkCreateShaderModule, s.device, &module, nullptr, &pipeline.stage.module);
    const VkResult result =
        vkCreateComputePipelines(s.device, VK_NULL_HANDLE, 1, &pipeline, nullptr, &made.pipeline);
    vkDestroyShaderModule(s.device, pipeline.stage.module, nullptr);
    s.kernels.push_back(made);
    LW_TRY(check(result, "vkCreateComputePipelines"));
    return made;
}

Expected<Gpu::Kernel> Gpu::kernel_of_glsl(const std::string &source, uint32_t bindings) {
    glslang_input_t input{};
    input.language = GLSLANG_SOURCE_GLSL;
    input.stage = GLSLANG_STAGE_COMPUTE;
    input.client = GLSLANG_CLIENT_VULKAN;
    input.client_version = GLSLANG_TARGET_VULKAN_1_1;
    input.target_language = GLSLANG_TARGET_SPV;
    input.target_language_version = GLSLANG_TARGET_SPV_1_3;
    input.code = source.c_str();
    input.default_version = 450;
    input.default_profile = GLSLANG_NO_PROFILE;
    input.messages = GLSLANG_MSG_DEFAULT_BIT;
    input.resource = glslang_default_resource();
    glslang_shader_t *shader = glslang_shader_create(&input);
    glslang_program_t *program = glslang_program_create();
    std::vector<uint32_t> words;
    std::string why;
    if (!glslang_shader_preprocess(shader, &input) || !glslang_shader_parse(shader, &input)) {
        why = glslang_shader_get_info_log(shader);
    } else {
        glslang_program_add_shader(program, shader);
        if (!glslang_program_link(program, GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT)) {
            why = glslang_program_get_info_log(program);
        } else {
            glslang_program_SPIRV_generate(program, GLSLANG_STAGE_COMPUTE);
            words.resize(glslang_program_SPIRV_get_size(program));
            glslang_program_SPIRV_get(program, words.data());
        }
    }
    glslang_program_delete(program);
    glslang_shader_delete(shader);
    if (words.empty()) return Status::internal("glslang: " + why);
    return kernel(words, "main", bindings);
}

Expected<Gpu::Dispatch> Gpu::bind(const Kernel &kernel, std::span<const Bound> buffers, uint32_t x,
                                  uint32_t y, uint32_t z) {
    State &s = *state_;
    Dispatch made{kernel, VK_NULL_HANDLE, {x, y, z}};
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = s.sets;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &kernel.set_layout;
    TRY_VK(vkAllocateDescriptorSets, s.device, &info, &made.set);
    for (uint32_t b = 0; b < buffers.size(); b++) {
        const VkDescriptorBufferInfo range{buffers[b].buffer.buffer, buffers[b].offset, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = made.set;
        write.dstBinding = b;
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &range;
        vkUpdateDescriptorSets(s.device, 1, &write, 0, nullptr);
    }
    return made;
}

void Gpu::record(VkCommandBuffer commands, const Dispatch &dispatch) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch.kernel.pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch.kernel.layout, 0, 1,
                            &dispatch.set, 0, nullptr);
    vkCmdDispatch(commands, dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]);
}

void Gpu::barrier(VkCommandBuffer commands) {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    memory.dstAccessMask =
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT;
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    vkCmdPipelineBarrier(commands, work, work, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

Status Gpu::run(const Record &record) {
    State &s = *state_;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    TRY_VK(vkBeginCommandBuffer, s.commands, &begin);
    LW_TRY(record(s.commands));
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;
    vkCmdPipelineBarrier(s.commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                             VK_PIPELINE_STAGE_TRANSFER_BIT,
                         0, 1, &memory, 0, nullptr, 0, nullptr);
    TRY_VK(vkEndCommandBuffer, s.commands);
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &s.commands;
    TRY_VK(vkQueueSubmit, s.queue, 1, &submit, s.fence);
    TRY_VK(vkWaitForFences, s.device, 1, &s.fence, VK_TRUE, most_wait_ns);
    return check(vkResetFences(s.device, 1, &s.fence), "vkResetFences");
}

Expected<Gpu::Times> Gpu::time(const Record &record, unsigned calls, unsigned repeats) {
    State &s = *state_;
    std::vector<double> seconds;
    for (unsigned repeat = 0; repeat < repeats + 1; repeat++) { // the first warms
        LW_TRY(run([&](VkCommandBuffer commands) {
            vkCmdResetQueryPool(commands, s.clock, 0, 2);
            vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, s.clock, 0);
            for (unsigned call = 0; call < calls; call++) {
                LW_TRY(record(commands));
                barrier(commands);
            }
            vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, s.clock, 1);
            return Status();
        }));
        uint64_t ticks[2] = {};
        TRY_VK(vkGetQueryPoolResults, s.device, s.clock, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        if (repeat > 0)
            seconds.push_back(static_cast<double>(ticks[1] - ticks[0]) * 1e-9 *
                              double{s.properties.limits.timestampPeriod} / calls);
    }
    std::sort(seconds.begin(), seconds.end());
    return Times{seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

bool Gpu::software() const { return state_->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
const std::string &Gpu::name() const { return state_->name; }
VkPhysicalDevice *Gpu::physical() { return &state_->physical; }
VkDevice *Gpu::device() { return &state_->device; }
VkQueue *Gpu::queue() { return &state_->queue; }
VkCommandPool *Gpu::pool() { return &state_->pool; }
VkFence *Gpu::fence() { return &state_->fence; }

} // namespace longwave::bench
