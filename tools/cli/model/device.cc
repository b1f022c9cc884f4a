#include "tools/cli/model/device.h"
#include "compiler/codegen/kernel_cache_folder.h"
#include "targets/target.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>
#include <cstdlib>

namespace longwave::cli {

void add_device_flag(CommandLine &app, std::string &device) {
    app.add_option(
           "--device", device,
           "Device to run on. vulkan is the best GPU. vulkan:NAME and vulkan:NUMBER choose one of `longwave "
           "devices`. auto measures and takes the faster of CPU and GPU")
        ->value("DEVICE")
        ->suggests({"cpu", "vulkan", "auto"})
        ->capture_default_str();
}

void add_share_dispatches_flag(CommandLine &app, bool &share_dispatches) {
    app.add_flag("--share-dispatches", share_dispatches,
                 "Steps of a stream share dispatches on software devices too (default: on GPUs only)");
}

void add_device_flags(CommandLine &app, ModelFlags &flags) {
    add_device_flag(app, flags.device);
    add_share_dispatches_flag(app, flags.use.share_dispatches);
    app.add_flag("--fall-back", flags.use.fall_back,
                 "Continue on the CPU when the GPU fails or is lost (default: stop with an error)");
}

std::string device_cache_folder() {
    const auto folder = [](const char *variable, const char *below) {
        const char *value = std::getenv(variable);
        return value && value[0] == '/' ? std::string(value) + below : std::string();
    };
    const std::string given = folder("XDG_CACHE_HOME", "/longwave/vulkan");
    return given.empty() ? folder("HOME", "/.cache/longwave/vulkan") : given;
}

#if LONGWAVE_WITH_VULKAN
namespace {

template <class Info, class Get> Info info_of(const lw_device *device, Get get) {
    Info info = {};
    info.struct_size = sizeof info;
    if (device) (void)get(device, &info);
    return info;
}

// Creates the folder, for the owner only. Empty: it cannot be used, and a note says why.
std::string ready_cache_folder() {
    std::string place = device_cache_folder();
    if (place.empty()) return "";
    const auto folder = compiler::KernelCacheFolder::open(place);
    if (folder) return place;
    print_text(stderr, "note: no cache for GPUs: %s\n", folder.status().message().c_str());
    return "";
}

} // namespace

Expected<std::shared_ptr<lw_device>> open_device(const std::string &device, const DeviceUse &use) {
    if (device == "cpu") return std::shared_ptr<lw_device>();
    const std::string kind = device.substr(0, device.find(':'));
    if (kind != "vulkan")
        return Status::usage("--device " + device + ": expected cpu, vulkan, vulkan:NAME or auto");
    const std::string wanted = kind.size() < device.size() ? device.substr(kind.size() + 1) : "";
    const std::string folder = ready_cache_folder();
    lw_vulkan_options options = {};
    options.struct_size = sizeof options;
    options.device = wanted.empty() ? nullptr : wanted.c_str();
    options.cache_folder = folder.empty() ? nullptr : folder.c_str();
    options.fall_back = use.fall_back;
    options.share_dispatches = use.share_dispatches;
    // A software device compiles a dispatch when it first runs it: up to a minute for many steps.
    if (use.share_dispatches) options.timeout_ms = 600'000;
    options.no_self_test = use.no_self_test;
    options.time_variants = use.time_variants ? 1 : 0;
    lw_device *opened = nullptr;
    LW_TRY(status_of(lw_vulkan_open(&options, &opened), "--device " + device));
    return std::shared_ptr<lw_device>(opened, lw_vulkan_close);
}

Status verify_device(const lw_model *model, bool always, double *worst) {
    return status_of(lw_vulkan_prove(model, always, worst), "the device");
}

std::string name_of(const lw_device *device) {
    return device ? info_of<lw_vulkan_info>(device, lw_vulkan_get_info).name : "cpu";
}

std::string identity_of(const lw_device *device) {
    const auto info = info_of<lw_vulkan_info>(device, lw_vulkan_get_info);
    std::string text = format("%u %u %u ", info.vendor, info.identity, info.driver);
    for (const uint8_t byte : info.uuid) text += format("%02x", byte);
    return text;
}

uint64_t fallen_back(const lw_device *device) {
    return info_of<lw_vulkan_stats>(device, lw_vulkan_get_stats).fallen_back;
}

Expected<std::string> target_of(const lw_device *device) {
    lw_vulkan_info info = {};
    info.struct_size = sizeof info;
    LW_TRY(status_of(lw_vulkan_get_info(device, &info), "device"));
    const targets::Target *best = nullptr;
    for (const targets::Target &target : targets::gpus())
        if (runs(info, target) && (!best || target.shared_bytes > best->shared_bytes)) best = &target;
    if (!best) return Status::device(std::string(info.name) + ": cannot run any of the targets");
    return best->name;
}
#else
Expected<std::string> target_of(const lw_device *) {
    return Status::device("this program was built without Vulkan");
}

Expected<std::shared_ptr<lw_device>> open_device(const std::string &device, const DeviceUse &) {
    if (device == "cpu") return std::shared_ptr<lw_device>();
    return Status::usage("--device " + device +
                         ": this program was built without Vulkan; build it with libvulkan-dev installed");
}

Status verify_device(const lw_model *, bool, double *) {
    return Status::device("this program was built without Vulkan");
}
std::string name_of(const lw_device *) { return "cpu"; }
std::string identity_of(const lw_device *) { return ""; }
uint64_t fallen_back(const lw_device *) { return 0; }
#endif

} // namespace longwave::cli
