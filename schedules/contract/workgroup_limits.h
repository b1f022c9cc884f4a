// What a workgroup of a GPU may use, as a target states it (targets/target.h).
#pragma once
#include <cstdint>

namespace longwave::schedules {

struct WorkgroupLimits {
    uint32_t shared_bytes = 0, threads = 0;
    uint32_t registers = 0; // float32 values that a thread keeps without a spill
    bool few_registers() const { return registers <= 64; }
};

// A template, for contracts do not know targets.
template <class Target> WorkgroupLimits limits_of(const Target &target) {
    return {static_cast<uint32_t>(target.shared_bytes), static_cast<uint32_t>(target.threads),
            static_cast<uint32_t>(target.registers)};
}

} // namespace longwave::schedules
