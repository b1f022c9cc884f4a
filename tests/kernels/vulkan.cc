#define VK_NO_PROTOTYPES
#include "tests/kernels/vulkan.h"
#include <array>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <vulkan/vulkan.h>

namespace longwave::test {

namespace {

// clang-format off
#define INSTANCE_FUNCTIONS(F) F(DestroyInstance) F(EnumeratePhysicalDevices) F(GetPhysicalDeviceProperties) \
    F(GetPhysicalDeviceFeatures) F(GetPhysicalDeviceMemoryProperties) F(GetPhysicalDeviceQueueFamilyProperties) \
    F(GetPhysicalDeviceFeatures2) F(CreateDevice) F(GetDeviceProcAddr)
#define DEVICE_FUNCTIONS(F) F(DestroyDevice) F(GetDeviceQueue) F(CreateBuffer) F(DestroyBuffer) \
    F(GetBufferMemoryRequirements) F(AllocateMemory) F(FreeMemory) F(BindBufferMemory) F(MapMemory) \
    F(CreateShaderModule) F(DestroyShaderModule) F(CreateDescriptorSetLayout) F(DestroyDescriptorSetLayout) \
    F(CreatePipelineLayout) F(DestroyPipelineLayout) F(CreateComputePipelines) F(DestroyPipeline) \
    F(CreateDescriptorPool) F(DestroyDescriptorPool) F(AllocateDescriptorSets) F(UpdateDescriptorSets) \
    F(CreateCommandPool) F(DestroyCommandPool) F(AllocateCommandBuffers) F(BeginCommandBuffer) \
    F(EndCommandBuffer) F(CmdBindPipeline) F(CmdBindDescriptorSets) F(CmdDispatch) F(CmdPipelineBarrier) \
    F(CreateFence) F(DestroyFence) F(QueueSubmit) F(WaitForFences)
// clang-format on

constexpr const char *validation = "VK_LAYER_KHRONOS_validation";
constexpr uint64_t timeout_ns = 120'000'000'000; // of a dispatch; software devices compile it first

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT *data, void *messages) {
    *static_cast<std::string *>(messages) += std::string(data->pMessage) + "\n";
    return VK_FALSE;
}

} // namespace

struct VulkanDevice::State {
    void *library = nullptr;
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    uint32_t family = 0;
    VkPhysicalDeviceMemoryProperties memory{};
    bool float64 = false, storage_16 = false;
    std::string name, messages;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
#define DECLARE(f) PFN_vk##f f = nullptr;
    INSTANCE_FUNCTIONS(DECLARE)
    DEVICE_FUNCTIONS(DECLARE)
#undef DECLARE

    std::string open();
    std::string create_instance();
    std::string choose_device();
    std::string create_device();
    bool has_validation() const;
};

bool VulkanDevice::State::has_validation() const {
    const auto list = reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
        GetInstanceProcAddr(nullptr, "vkEnumerateInstanceLayerProperties"));
    uint32_t count = 0;
    list(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    list(&count, layers.data());
    for (const VkLayerProperties &layer : layers)
        if (std::strcmp(layer.layerName, validation) == 0) return true;
    return false;
}

std::string VulkanDevice::State::create_instance() {
    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.pApplicationName = "longwave kernel tests", application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &application;
    const VkValidationFeatureEnableEXT enabled[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
    features.enabledValidationFeatureCount = 1, features.pEnabledValidationFeatures = enabled;
    const char *extensions[] = {"VK_EXT_debug_utils", "VK_EXT_validation_features"};
    const bool validated = has_validation();
    if (validated) {
        info.pNext = &features;
        info.enabledLayerCount = 1, info.ppEnabledLayerNames = &validation;
        info.enabledExtensionCount = 2, info.ppEnabledExtensionNames = extensions;
    }
    const auto create =
        reinterpret_cast<PFN_vkCreateInstance>(GetInstanceProcAddr(nullptr, "vkCreateInstance"));
    if (const VkResult result = create(&info, nullptr, &instance))
        return fmt::format("vkCreateInstance: {}", static_cast<int>(result));
#define LOAD(f) f = reinterpret_cast<PFN_vk##f>(GetInstanceProcAddr(instance, "vk" #f));
    INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
    if (!validated) return {};
    VkDebugUtilsMessengerCreateInfoEXT callback{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    callback.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    callback.messageType =
        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
    callback.pfnUserCallback = on_message, callback.pUserData = &messages;
    const auto listen = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        GetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
    listen(instance, &callback, nullptr, &messenger);
    return {};
}

std::string VulkanDevice::State::choose_device() {
    uint32_t count = 0;
    EnumeratePhysicalDevices(instance, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    EnumeratePhysicalDevices(instance, &count, devices.data());
    for (const VkPhysicalDevice candidate : devices) {
        uint32_t families = 0;
        GetPhysicalDeviceQueueFamilyProperties(candidate, &families, nullptr);
        std::vector<VkQueueFamilyProperties> queues(families);
        GetPhysicalDeviceQueueFamilyProperties(candidate, &families, queues.data());
        for (family = 0; family < families; family++) {
            if (!(queues[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
            physical = candidate;
            VkPhysicalDeviceProperties properties;
            GetPhysicalDeviceProperties(physical, &properties);
            name = properties.deviceName;
            GetPhysicalDeviceMemoryProperties(physical, &memory);
            return {};
        }
    }
    return "no Vulkan device that computes";
}

std::string VulkanDevice::State::create_device() {
    VkPhysicalDeviceFeatures offered, wanted{};
    GetPhysicalDeviceFeatures(physical, &offered);
    wanted.shaderFloat64 = offered.shaderFloat64;
    float64 = offered.shaderFloat64 == VK_TRUE;
    const float priority = 1;
    VkDeviceQueueCreateInfo queues{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queues.queueFamilyIndex = family, queues.queueCount = 1, queues.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.queueCreateInfoCount = 1, info.pQueueCreateInfos = &queues, info.pEnabledFeatures = &wanted;
    VkPhysicalDevice16BitStorageFeatures halves{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDeviceFeatures2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    all.pNext = &halves;
    GetPhysicalDeviceFeatures2(physical, &all);
    storage_16 = halves.storageBuffer16BitAccess == VK_TRUE;
    halves = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    halves.storageBuffer16BitAccess = storage_16;
    info.pNext = &halves;
    if (const VkResult result = CreateDevice(physical, &info, nullptr, &device))
        return fmt::format("vkCreateDevice: {}", static_cast<int>(result));
#define LOAD(f) f = reinterpret_cast<PFN_vk##f>(GetDeviceProcAddr(device, "vk" #f));
    DEVICE_FUNCTIONS(LOAD)
#undef LOAD
    GetDeviceQueue(device, family, 0, &queue);
    return {};
}

std::string VulkanDevice::State::open() {
    library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return "no libvulkan.so.1";
    GetInstanceProcAddr =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    if (std::string why = create_instance(); !why.empty()) return why;
    if (std::string why = choose_device(); !why.empty()) return why;
    return create_device();
}

VulkanDevice::VulkanDevice() : state_(std::make_unique<State>()) {}

VulkanDevice::~VulkanDevice() {
    if (state_->device) state_->DestroyDevice(state_->device, nullptr);
    if (state_->messenger)
        reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
            state_->GetInstanceProcAddr(state_->instance, "vkDestroyDebugUtilsMessengerEXT"))(
            state_->instance, state_->messenger, nullptr);
    if (state_->instance) state_->DestroyInstance(state_->instance, nullptr);
}

VulkanDevice *VulkanDevice::get(std::string &why) {
    static std::string problem;
    static const std::unique_ptr<VulkanDevice> device = [] {
        std::unique_ptr<VulkanDevice> opened(new VulkanDevice);
        problem = opened->state_->open();
        return opened;
    }();
    why = problem;
    return problem.empty() ? device.get() : nullptr;
}

bool VulkanDevice::has_float64() const { return state_->float64; }
bool VulkanDevice::has_storage_16() const { return state_->storage_16; }
const std::string &VulkanDevice::name() const { return state_->name; }

namespace {

// Undone in reverse, whatever happened.
class Cleanup {
public:
    ~Cleanup() {
        for (size_t i = steps_.size(); i-- > 0;) steps_[i]();
    }
    void add(std::function<void()> step) { steps_.push_back(std::move(step)); }

private:
    std::vector<std::function<void()>> steps_;
};

} // namespace

#define CHECKED(call)                                                                                        \
    if (const VkResult result_ = (call)) return fmt::format("{}: {}", #call, static_cast<int>(result_))
#define CREATED(handle, f) cleanup.add([&s, h = handle] { s.f(s.device, h, nullptr); })

std::string VulkanDevice::run(const Dispatch &dispatch, std::span<const Buffer> buffers) {
    State &s = *state_;
    s.messages.clear();
    Cleanup cleanup;
    // Memory that both sides see, a piece for each buffer.
    std::vector<void *> mapped;
    std::vector<VkDescriptorBufferInfo> places;
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const Buffer &buffer : buffers) {
        VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
        info.size = buffer.bytes, info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        VkBuffer handle;
        CHECKED(s.CreateBuffer(s.device, &info, nullptr, &handle));
        CREATED(handle, DestroyBuffer);
        VkMemoryRequirements needs;
        s.GetBufferMemoryRequirements(s.device, handle, &needs);
        constexpr VkMemoryPropertyFlags visible =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        uint32_t type = 0;
        while (type < s.memory.memoryTypeCount &&
               (!(needs.memoryTypeBits >> type & 1) ||
                (s.memory.memoryTypes[type].propertyFlags & visible) != visible))
            type++;
        VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size, type};
        VkDeviceMemory memory;
        CHECKED(s.AllocateMemory(s.device, &allocation, nullptr, &memory));
        CREATED(memory, FreeMemory);
        CHECKED(s.BindBufferMemory(s.device, handle, memory, 0));
        void *place = nullptr;
        CHECKED(s.MapMemory(s.device, memory, 0, VK_WHOLE_SIZE, 0, &place));
        std::memcpy(place, buffer.memory, buffer.bytes);
        mapped.push_back(place);
        places.push_back({handle, 0, VK_WHOLE_SIZE});
        bindings.push_back(
            {buffer.binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    }
    VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    code.codeSize = dispatch.module.size_bytes(), code.pCode = dispatch.module.data();
    VkShaderModule module;
    CHECKED(s.CreateShaderModule(s.device, &code, nullptr, &module));
    CREATED(module, DestroyShaderModule);
    const auto count = static_cast<uint32_t>(buffers.size());
    VkDescriptorSetLayoutCreateInfo set_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set_info.bindingCount = count, set_info.pBindings = bindings.data();
    VkDescriptorSetLayout set_layout;
    CHECKED(s.CreateDescriptorSetLayout(s.device, &set_info, nullptr, &set_layout));
    CREATED(set_layout, DestroyDescriptorSetLayout);
    VkPipelineLayoutCreateInfo layout_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout_info.setLayoutCount = 1, layout_info.pSetLayouts = &set_layout;
    VkPipelineLayout layout;
    CHECKED(s.CreatePipelineLayout(s.device, &layout_info, nullptr, &layout));
    CREATED(layout, DestroyPipelineLayout);
    VkComputePipelineCreateInfo pipeline_info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    pipeline_info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    pipeline_info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT, pipeline_info.stage.module = module;
    pipeline_info.stage.pName = dispatch.entry.c_str(), pipeline_info.layout = layout;
    VkPipeline pipeline;
    CHECKED(s.CreateComputePipelines(s.device, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline));
    CREATED(pipeline, DestroyPipeline);

    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count};
    VkDescriptorPoolCreateInfo sets_info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    sets_info.maxSets = 1, sets_info.poolSizeCount = 1, sets_info.pPoolSizes = &size;
    VkDescriptorPool sets;
    CHECKED(s.CreateDescriptorPool(s.device, &sets_info, nullptr, &sets));
    CREATED(sets, DestroyDescriptorPool);
    VkDescriptorSetAllocateInfo one_set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, sets, 1,
                                        &set_layout};
    VkDescriptorSet set;
    CHECKED(s.AllocateDescriptorSets(s.device, &one_set, &set));
    for (size_t i = 0; i < buffers.size(); i++) {
        VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        write.dstSet = set, write.dstBinding = buffers[i].binding, write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, write.pBufferInfo = &places[i];
        s.UpdateDescriptorSets(s.device, 1, &write, 0, nullptr);
    }

    VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, s.family};
    VkCommandPool pool;
    CHECKED(s.CreateCommandPool(s.device, &pool_info, nullptr, &pool));
    CREATED(pool, DestroyCommandPool);
    VkCommandBufferAllocateInfo commands_info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool,
                                              VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands;
    CHECKED(s.AllocateCommandBuffers(s.device, &commands_info, &commands));
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECKED(s.BeginCommandBuffer(commands, &begin));
    s.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    s.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
    s.CmdDispatch(commands, dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]);
    const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                  VK_ACCESS_HOST_READ_BIT};
    s.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &barrier, 0, nullptr, 0, nullptr);
    CHECKED(s.EndCommandBuffer(commands));
    VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;
    CHECKED(s.CreateFence(s.device, &fence_info, nullptr, &fence));
    CREATED(fence, DestroyFence);
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1, submit.pCommandBuffers = &commands;
    CHECKED(s.QueueSubmit(s.queue, 1, &submit, fence));
    CHECKED(s.WaitForFences(s.device, 1, &fence, VK_TRUE, timeout_ns));
    for (size_t i = 0; i < buffers.size(); i++) std::memcpy(buffers[i].memory, mapped[i], buffers[i].bytes);
    return s.messages;
}

} // namespace longwave::test
