// The device that computes: the CPU, or a GPU through Vulkan.
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

// --device alone, for programs that open models themselves.
void add_device_flag(CommandLine &app, std::string &device);
void add_share_dispatches_flag(CommandLine &app, bool &share_dispatches);
// --device, --fall-back and --share-dispatches, for every command that computes.
void add_device_flags(CommandLine &app, ModelFlags &flags);

// What is asked of a device, as in lw_vulkan_options.
struct DeviceUse {
    bool fall_back = false;
    bool share_dispatches = false; // on software devices as well
    bool no_self_test = false;
    bool time_variants = false; // of kernels, whatever is remembered
};

// "cpu": null. "vulkan": the best device; "vulkan:NAME" or "vulkan:NUMBER": that of `longwave
// devices`. Pipelines and records of passed checks are kept in device_cache_folder(). Fault::usage:
// unknown kind of device, or this program was built without Vulkan. Fault::device: the machine has
// no such device, or cannot use it.
Expected<std::shared_ptr<lw_device>> open_device(const std::string &device, const DeviceUse &use = {});

// Recomputes the golden vectors on the model's device. Without `always`, a device and driver that
// have passed before are not checked again. Fault::device: the results are wrong, and the device is
// disabled.
Status verify_device(const lw_model *model, bool always, double *worst = nullptr);

// $XDG_CACHE_HOME/longwave/vulkan or ~/.cache/longwave/vulkan; empty: neither variable holds an
// absolute path.
std::string device_cache_folder();

// Whether a device with these limits can run the kernels of the target.
inline bool runs(const lw_vulkan_info &info, const targets::Target &gpu) {
    return info.usable && info.shared_bytes >= static_cast<uint32_t>(gpu.shared_bytes) &&
           info.threads >= static_cast<uint32_t>(gpu.threads);
}

// The target with the most shared memory that the device can run. Fault::device: there is none.
Expected<std::string> target_of(const lw_device *device);

// Its name, for reports; null: "cpu".
std::string name_of(const lw_device *device);
// A text that identifies the device and its driver.
std::string identity_of(const lw_device *device);
// Number of runs that the CPU computed after a failure of the GPU; 0 for the CPU itself.
uint64_t fallen_back(const lw_device *device);

} // namespace longwave::cli
