// Facts about a device that the compiler plans for. Planner, ops and passes ask these facts. They
// never ask which device it is.
//
// A new device is one file that fills a Traits (cpu.cc and vulkan.cc are the two examples), one
// line in devices.cc, kernels for it (schedules/) and a library with its runtime
// (runtime/core/device.h).
#pragma once
#include "targets/target.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::fb {
enum class DeviceKind : uint8_t; // formats/artifact/plan.fbs
}

namespace longwave::devices {

// Families of kernels. Each algorithm names the families that have a kernel of it.
enum KernelSets : uint8_t { no_kernels = 0, cpu_kernels = 1, gpu_kernels = 2, all_kernels = 3 };

// How the code of a device lies in the artifact.
enum class CodeContainer : uint8_t {
    machine_code, // one linked image per CPU target (codegen/code_image.h)
    modules       // SPIR-V behind a manifest (formats/artifact/modules.h)
};

inline constexpr uint64_t no_limit = UINT64_MAX;

struct Traits {
    std::string name; // of its target; empty for the host
    // Kernels are compiled for this target. Null: for every CPU target of the artifact.
    const targets::Target *target = nullptr;
    fb::DeviceKind runs{}; // the entries that it runs; 0 is the CPU
    bool host = false;     // opens the model, and computes the layers that no other device computes
    bool offline = true;   // has entries for offline runs
    bool stream = true;    // has entries for streams
    KernelSets kernels = cpu_kernels;
    CodeContainer code = CodeContainer::machine_code;

    // ---- how a call computes
    bool tiles = true; // the planner may cut a call into tiles; false: one dispatch, all rows
    // A kernel advances the row count that it reads; false: a dispatch of its own does.
    bool kernels_count_rows = true;
    bool forced_algorithms = true;   // --convolution applies
    bool skip_masks = true;          // kernels leave out work that nobody wants
    bool integer_products = true;    // kernels multiply int8 weights by rows that they round to int16
    bool longer_transforms = true;   // blocks of a stream may have a transform that is longer than they are
    bool position_vectorized = true; // kernels for few channels use vectors over positions
    bool keeps_channels = true;      // streams: kernels keep the older rows of few channels by channel
    uint64_t workgroup_bytes = no_limit; // memory that the threads of one call share

    // ---- memory
    uint32_t row_alignment = 1;      // bytes; the first row of a value starts at a multiple
    uint32_t fp16_row_alignment = 1; // the same, in float32 bytes, for values that may become float16
    bool fp16_storage = false;       // buffers between kernels may hold float16
    bool arenas_in_row = true;       // streams that run together have arenas at one distance
    bool stream_clears = true;       // streams have steps that clear memory; false: they copy zeros

    bool has_any_of(KernelSets sets) const { return (kernels & sets) != 0; }
};

// The CPU that opens the model. It computes every layer.
const Traits &host();
// The devices that an artifact may have code for besides the host.
const std::vector<Traits> &all();

// Null: no device of that name in the list.
const Traits *find(const std::vector<Traits> &devices, std::string_view name);

Traits vulkan(const targets::Target &target); // `target` must outlive the result

} // namespace longwave::devices
