// Decides what a device computes of a model: which entries it gets, and which layers the host
// computes in their place. Placing every layer on the host is a valid answer, not an error.
#pragma once
#include "compiler/codegen/kernel_cache.h"
#include "compiler/driver/entries.h"
#include "compiler/placement/placement.h"
#include "compiler/plan/entry_plan.h"

namespace longwave::compiler {

struct DevicePlan {
    DeviceEntries entries;
    Placed placed;                 // layers of offline runs that the host computes
    std::string no_run, no_stream; // why the device has no such entry: a line per layer; empty: it has one
    Capabilities capabilities;     // of all kernels that the device calls
};

// `wanted`: the device and the kinds of entries that were asked for. `model`: its name. Asks for
// all kernels at once. Errors: Fault::input when neither an offline run nor a stream can run on the
// device, with a line per layer; Fault::usage for options that do not fit; as query_capabilities.
Expected<DevicePlan> plan_for_device(const Graphs &graphs, const DeviceEntries &wanted, const Tuning &tuning,
                                     const Options &options, const KernelCacheOptions &kernels,
                                     const std::string &model);

// Makes sure that the device has every kernel of the final plan: placement splits fused layers, and
// the two halves are other kernels. Errors: Fault::input, a line per layer.
Status check_kernels(DevicePlan &device, const std::vector<EntryPlan> &entries,
                     const KernelCacheOptions &kernels);

} // namespace longwave::compiler
