// Compiles SPIR-V modules with the Vulkan driver that the environment selects, and prints what its
// compiler says of them. Nothing is dispatched.
//     pipeline_stats FILE ENTRY DESCRIPTORS [FILE ENTRY DESCRIPTORS]... [--dump FOLDER]
// A line of JSON for the device, then one per module: its file and either "failed" (a VkResult) or
// "statistics", one object per program that the compiler made. --dump writes its intermediate forms
// and its machine code. C, and the loader by name, so that a cross compiler needs nothing but
// itself.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

// clang-format off: it would indent each line further
#define FUNCTIONS(USE)                                                                                       \
    USE(vkCreateInstance) USE(vkEnumeratePhysicalDevices) USE(vkGetPhysicalDeviceProperties)                 \
    USE(vkGetPhysicalDeviceFeatures2) USE(vkCreateDevice) USE(vkCreateDescriptorSetLayout)                   \
    USE(vkCreatePipelineLayout) USE(vkCreateShaderModule) USE(vkCreateComputePipelines)                      \
    USE(vkDestroyPipeline) USE(vkDestroyShaderModule) USE(vkDestroyPipelineLayout)                           \
    USE(vkDestroyDescriptorSetLayout) USE(vkGetPipelineExecutablePropertiesKHR)                              \
    USE(vkGetPipelineExecutableStatisticsKHR) USE(vkGetPipelineExecutableInternalRepresentationsKHR)
// clang-format on
#define DECLARE(name) static PFN_##name name##_;
FUNCTIONS(DECLARE)

enum { most_descriptors = 64, most_programs = 8, most_statistics = 64, most_forms = 32 };

static void fail(const char *what, int code) {
    fprintf(stderr, "pipeline_stats: %s (%d)\n", what, code);
    exit(1);
}
static void check(VkResult result, const char *what) {
    if (result != VK_SUCCESS) fail(what, result);
}

static VkInstance load(void) {
    void *library = dlopen("libvulkan.so.1", RTLD_NOW);
    if (!library) fail("libvulkan.so.1 cannot be loaded", 0);
    PFN_vkGetInstanceProcAddr find = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
    if (!find) fail("libvulkan.so.1 has no vkGetInstanceProcAddr", 0);
    vkCreateInstance_ = (PFN_vkCreateInstance)find(NULL, "vkCreateInstance");
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &app};
    VkInstance instance;
    check(vkCreateInstance_(&info, NULL, &instance), "no instance");
#define FIND(name)                                                                                           \
    if (!name##_) name##_ = (PFN_##name)find(instance, #name);
    FUNCTIONS(FIND)
    return instance;
}

// With whatever the modules may ask for, where the device has it: the driver must not be what
// refuses a module.
static VkDevice open_device(VkInstance instance) {
    VkPhysicalDevice physical;
    uint32_t count = 1;
    const VkResult found = vkEnumeratePhysicalDevices_(instance, &count, &physical);
    if ((found != VK_SUCCESS && found != VK_INCOMPLETE) || !count) fail("no device", found);
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties_(physical, &properties);
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
    VkPhysicalDevice16BitStorageFeatures half = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, .pNext = &statistics};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &half};
    vkGetPhysicalDeviceFeatures2_(physical, &features);
    if (!statistics.pipelineExecutableInfo) fail("the driver tells no statistics", 0);
    printf("{\"device\":\"%s\",\"shaderFloat64\":%u,\"shaderInt64\":%u,\"storageBuffer16BitAccess\":%u}\n",
           properties.deviceName, features.features.shaderFloat64, features.features.shaderInt64,
           half.storageBuffer16BitAccess);
    fflush(stdout);                                  // a crash must not take it along
    features.features.robustBufferAccess = VK_FALSE; // it changes code, and the runtime does not ask for it
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const char *extension = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = 1,
                                     .ppEnabledExtensionNames = &extension};
    VkDevice device;
    check(vkCreateDevice_(physical, &info, NULL, &device), "no device with these features");
    return device;
}

static uint32_t *read_words(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path, 0);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint32_t *words = malloc(*bytes);
    if (!words || fread(words, 1, *bytes, file) != *bytes) fail(path, 0);
    fclose(file);
    return words;
}

static void dump(VkDevice device, VkPipeline pipeline, uint32_t program, const char *path) {
    const VkPipelineExecutableInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                               .pipeline = pipeline,
                                               .executableIndex = program};
    static VkPipelineExecutableInternalRepresentationKHR forms[most_forms];
    memset(forms, 0, sizeof forms);
    for (int i = 0; i < most_forms; i++)
        forms[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
    uint32_t count = most_forms;
    vkGetPipelineExecutableInternalRepresentationsKHR_(device, &which, &count, forms);
    for (uint32_t i = 0; i < count; i++) forms[i].pData = malloc(forms[i].dataSize + 1);
    vkGetPipelineExecutableInternalRepresentationsKHR_(device, &which, &count, forms);
    for (uint32_t i = 0; i < count; i++) {
        char name[4200];
        snprintf(name, sizeof name, "%s.%u.%u.txt", path, program, i);
        FILE *file = fopen(name, "w");
        if (file) {
            fprintf(file, "; %s\n", forms[i].name);
            fwrite(forms[i].pData, 1, forms[i].dataSize, file);
            fclose(file);
        }
        free(forms[i].pData);
    }
}

static double value_of(const VkPipelineExecutableStatisticKHR *one) {
    switch (one->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return one->value.b32;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return (double)one->value.i64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return (double)one->value.u64;
    default: return one->value.f64;
    }
}

static void print_statistics(VkDevice device, VkPipeline pipeline, const char *dump_path) {
    const VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    static VkPipelineExecutablePropertiesKHR programs[most_programs];
    memset(programs, 0, sizeof programs);
    for (int i = 0; i < most_programs; i++)
        programs[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    uint32_t count = most_programs;
    vkGetPipelineExecutablePropertiesKHR_(device, &info, &count, programs);
    printf(",\"statistics\":[");
    for (uint32_t p = 0; p < count; p++) {
        const VkPipelineExecutableInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                                   .pipeline = pipeline,
                                                   .executableIndex = p};
        static VkPipelineExecutableStatisticKHR list[most_statistics];
        memset(list, 0, sizeof list);
        for (int i = 0; i < most_statistics; i++)
            list[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
        uint32_t length = most_statistics;
        vkGetPipelineExecutableStatisticsKHR_(device, &which, &length, list);
        printf("%s{\"program\":\"%s\",\"subgroup\":%u", p ? "," : "", programs[p].name,
               programs[p].subgroupSize);
        for (uint32_t i = 0; i < length; i++) printf(",\"%s\":%.0f", list[i].name, value_of(&list[i]));
        printf("}");
        if (dump_path) dump(device, pipeline, p, dump_path);
    }
    printf("]");
}

static void compile(VkDevice device, const char *path, const char *entry, int descriptors,
                    const char *folder) {
    VkDescriptorSetLayoutBinding bindings[most_descriptors] = {{0}};
    if (descriptors < 0 || descriptors > most_descriptors) fail("too many descriptors", descriptors);
    for (int i = 0; i < descriptors; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = (uint32_t)i,
                                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set_info = {.sType =
                                                          VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                      .bindingCount = (uint32_t)descriptors,
                                                      .pBindings = bindings};
    VkDescriptorSetLayout set;
    check(vkCreateDescriptorSetLayout_(device, &set_info, NULL, &set), "no descriptor set");
    const VkPipelineLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set};
    VkPipelineLayout layout;
    check(vkCreatePipelineLayout_(device, &layout_info, NULL, &layout), "no pipeline layout");
    size_t bytes;
    uint32_t *words = read_words(path, &bytes);
    const VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = words};
    VkShaderModule module;
    check(vkCreateShaderModule_(device, &module_info, NULL, &module), "no shader module");
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                 (folder ? VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR : 0u),
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = entry},
        .layout = layout};
    VkPipeline pipeline;
    const VkResult result = vkCreateComputePipelines_(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char dump_path[4096];
    if (folder) snprintf(dump_path, sizeof dump_path, "%s/%s", folder, name);
    printf("{\"file\":\"%s\"", name);
    if (result != VK_SUCCESS) printf(",\"failed\":%d", result);
    else print_statistics(device, pipeline, folder ? dump_path : NULL);
    printf("}\n");
    fflush(stdout);
    if (result == VK_SUCCESS) vkDestroyPipeline_(device, pipeline, NULL);
    vkDestroyShaderModule_(device, module, NULL);
    vkDestroyPipelineLayout_(device, layout, NULL);
    vkDestroyDescriptorSetLayout_(device, set, NULL);
    free(words);
}

int main(int count, char **arguments) {
    const char *folder = NULL;
    if (count > 3 && !strcmp(arguments[count - 2], "--dump")) folder = arguments[count - 1], count -= 2;
    if (count < 4 || count % 3 != 1) fail("expected FILE ENTRY DESCRIPTORS, any number of times", count);
    VkDevice device = open_device(load());
    for (int i = 1; i + 2 < count; i += 3)
        compile(device, arguments[i], arguments[i + 1], atoi(arguments[i + 2]), folder);
    return 0;
}
