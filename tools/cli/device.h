// What computes: the processor, or a GPU through Vulkan.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include "tools/cli/command_line.h"
#include <longwave/longwave.h>
#include <longwave/vulkan.h>
#include <memory>
#include <string>

namespace longwave::cli {

// --device of every verb that runs whole sequences.
void add_device_flag(CommandLine &app, std::string &device);

// "cpu": null. "vulkan": the best device; "vulkan:NAME" or "vulkan:NUMBER": that of `longwave devices`.
// Fault::usage: no such kind of device, or this program was built without Vulkan. Fault::device: there is none, or it
// cannot be used.
Expected<std::shared_ptr<lw_device>> open_device(const std::string &device);

// Whether a device of such limits takes the target's kernels.
inline bool runs(const lw_vulkan_info &info, const targets::Target &gpu) {
    return info.usable && info.shared_bytes >= static_cast<uint32_t>(gpu.shared_bytes) &&
           info.threads >= static_cast<uint32_t>(gpu.threads);
}

// The target with most shared memory that the device runs. Fault::device: it runs none.
Expected<std::string> target_of(const lw_device *device);

// Its name, for reports; null: "cpu".
std::string name_of(const lw_device *device);

} // namespace longwave::cli
