#include "tools/cli/device.h"
#include "targets/target.h"
#include "tools/cli/model.h"
#include "tools/cli/text.h"

namespace longwave::cli {

void add_device_flag(CommandLine &app, std::string &device) {
    app.add_option(
           "--device", device,
           "What computes: cpu, vulkan (the best device), vulkan:NAME or vulkan:NUMBER (see `longwave "
           "devices`)")
        ->capture_default_str();
}

#if LONGWAVE_WITH_VULKAN
Expected<std::shared_ptr<lw_device>> open_device(const std::string &device) {
    if (device == "cpu") return std::shared_ptr<lw_device>();
    const std::string kind = device.substr(0, device.find(':'));
    if (kind != "vulkan")
        return Status::usage("--device " + device + ": expected cpu, vulkan or vulkan:NAME");
    const std::string wanted = kind.size() < device.size() ? device.substr(kind.size() + 1) : "";
    lw_vulkan_options options = {};
    options.struct_size = sizeof options;
    options.device = wanted.empty() ? nullptr : wanted.c_str();
    lw_device *opened = nullptr;
    LW_TRY(status_of(lw_vulkan_open(&options, &opened), "--device " + device));
    return std::shared_ptr<lw_device>(opened, lw_vulkan_close);
}

std::string name_of(const lw_device *device) {
    lw_vulkan_info info = {};
    info.struct_size = sizeof info;
    return device && lw_vulkan_get_info(device, &info) == LW_OK ? info.name : "cpu";
}

Expected<std::string> target_of(const lw_device *device) {
    lw_vulkan_info info = {};
    info.struct_size = sizeof info;
    LW_TRY(status_of(lw_vulkan_get_info(device, &info), "device"));
    const targets::Target *best = nullptr;
    for (const targets::Target &target : targets::gpus())
        if (runs(info, target) && (!best || target.shared_bytes > best->shared_bytes)) best = &target;
    if (!best) return Status::device(std::string(info.name) + ": runs none of the targets");
    return best->name;
}
#else
Expected<std::string> target_of(const lw_device *) { return Status::device("there is no device"); }

Expected<std::shared_ptr<lw_device>> open_device(const std::string &device) {
    if (device == "cpu") return std::shared_ptr<lw_device>();
    return Status::usage("--device " + device +
                         ": this longwave was built without Vulkan (its headers: Debian's libvulkan-dev)");
}

std::string name_of(const lw_device *) { return "cpu"; }
#endif

} // namespace longwave::cli
