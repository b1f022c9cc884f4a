// The processor's part in runs: steps of mixed entries that are its own, and where the caller asked for that, runs
// that fail on the device, computed from the same inputs.
// All memory is taken when a model is opened and a runner made, so that a lost device costs nothing but time.
#pragma once
#include "runtime/core/device.h"

namespace longwave::runtime::vulkan {

struct Model;
struct Recording;
struct RunSession;

// The processor's side of a session; without memory where it has no part in it.
struct FallBack {
    Session *session = nullptr; // of the CPU
    bool on = false;            // the newest run failed on the device and was computed there
};

// Whether models of the source have such a part.
bool processor_takes_part(const ModelSource &source);
// LW_UNSUPPORTED where the artifact lacks a run entry of the CPU for one of the GPU's.
lw_status open_fall_back(Model &model);
void close_fall_back(Model &model);
uint64_t fall_back_bytes(const ModelSource &source, uint32_t workers);
lw_status begin_fall_back(RunSession &session, uint32_t workers, uint8_t *memory);
void end_fall_back(RunSession &session);

// Whether it may be tried once more there.
bool falls_back(const RunSession &session, lw_status failed);
lw_status run_on_cpu(RunSession &session, const Recording &recording, const Extent &extent, ThreadPool *thread_pool);
// As device.h says; `area` is one of the GPU's entry.
void read_of_processor(const RunSession &session, const Recording &recording, const Area &area, uint64_t rows,
                       uint8_t *to, uint64_t to_stride);

} // namespace longwave::runtime::vulkan
