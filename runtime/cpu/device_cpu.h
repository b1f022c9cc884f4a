// The CPU as a device: programs of kernel calls over memory of this process.
#pragma once
#include "runtime/core/device.h"

namespace longwave::runtime {

extern const Device cpu_device;

// Told before and after each step that fires, for programs that measure: what ships calls nothing.
struct StepWatch {
    void (*tell)(void *context, const fb::Step &step, bool before);
    void *context;
};
// As cpu_device.run.
lw_status run_watched(Session &session, uint32_t entry, uint64_t block, const Extent &extent,
                      ThreadPool *thread_pool, const StepWatch &watch);

} // namespace longwave::runtime
