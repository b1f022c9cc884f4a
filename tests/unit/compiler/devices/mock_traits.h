// The traits of a device that computes on the CPU, with the CPU's kernels and through the device
// interface.
#pragma once
#include "compiler/devices/traits.h"
#include "formats/artifact/plan_generated.h"

namespace longwave::test {

inline devices::Traits mock_traits() {
    return {.name = "mock",
            .target = targets::find("x86-64-v2"), // whose kernels the compiler asks for
            .runs = fb::DeviceKind::gpu,          // entries that are not the host's
            .kernels = devices::cpu_kernels,
            .code = devices::CodeContainer::machine_code,
            .row_alignment = 64};
}

} // namespace longwave::test
