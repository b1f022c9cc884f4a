// The CPU as a device that tells when each step ran, for programs that show or measure it. It goes
// through the device interface alone: the library that ships contains nothing of it, and a model
// that is opened without it pays nothing.
#pragma once
#include "longwave/longwave.h"
#include <cstdint>

namespace longwave::runtime {

// One firing of a step, with all its tiles; or all steps of a block or of an offline run.
struct StepRun {
    uint32_t entry = 0, step = 0;      // indices in the plan; step: `all_steps` for the whole block
    uint64_t block = 0;                // of a stream; 0: an offline run
    uint64_t begin_ns = 0, end_ns = 0; // of CLOCK_MONOTONIC
};
inline constexpr uint32_t all_steps = UINT32_MAX;

// Called after each step, then once after the whole block. On the thread that runs the stream.
using Told = void (*)(void *context, const StepRun &run);

// Called once, when a model is open: its derived tables, which live as long as the model.
using Prepared = void (*)(void *context, const uint8_t *tables, uint64_t bytes);

// A device for lw_open_options.device. `context` and the device must outlive the models that are
// opened with it. Either function may be null. Null: no memory. The times of steps include two
// readings of the clock and one change of the floating-point mode.
lw_device *watched_cpu_create(Told told, void *context, Prepared prepared = nullptr);
void watched_cpu_destroy(lw_device *device); // after its models were closed

} // namespace longwave::runtime
