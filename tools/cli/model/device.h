// What computes: the CPU, or a GPU through Vulkan.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include "tools/cli/command_line/command_line.h"
#include <longwave/longwave.h>
#include <longwave/vulkan.h>
#include <memory>
#include <string>

namespace longwave::cli {

struct ModelFlags;

// --device alone, for programs that open models in their own way.
void add_device_flag(CommandLine &app, std::string &device);
// --device and --fall-back, of every verb that computes.
void add_device_flags(CommandLine &app, ModelFlags &flags);

// "cpu": null. "vulkan": the best device; "vulkan:NAME" or "vulkan:NUMBER": that of `longwave devices`. Pipelines and
// proofs are kept in device_cache_folder(). fall_back: as in lw_vulkan_options.
// Fault::usage: no such kind of device, or this program was built without Vulkan. Fault::device: there is none, or it
// cannot be used.
Expected<std::shared_ptr<lw_device>> open_device(const std::string &device, bool fall_back = false);

// The golden vectors on the model's device, where this one and its driver have not given them before, or always.
// Fault::device: it answers wrongly and was put aside.
Status prove_device(const lw_model *model, bool always, double *worst = nullptr);

// $XDG_CACHE_HOME/longwave/vulkan or ~/.cache/longwave/vulkan; empty: neither variable holds an absolute path.
std::string device_cache_folder();

// Whether a device of such limits takes the target's kernels.
inline bool runs(const lw_vulkan_info &info, const targets::Target &gpu) {
    return info.usable && info.shared_bytes >= static_cast<uint32_t>(gpu.shared_bytes) &&
           info.threads >= static_cast<uint32_t>(gpu.threads);
}

// The target with most shared memory that the device runs. Fault::device: it runs none.
Expected<std::string> target_of(const lw_device *device);

// Its name, for reports; null: "cpu".
std::string name_of(const lw_device *device);
// Device and driver, told from all others.
std::string identity_of(const lw_device *device);
// Runs that the CPU had to compute; 0 for the CPU itself.
uint64_t fallen_back(const lw_device *device);

} // namespace longwave::cli
