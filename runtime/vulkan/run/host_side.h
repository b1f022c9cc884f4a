// The CPU's part in runs: its steps of mixed entries and, with lw_vulkan_options.fall_back, runs
// that fail on the GPU. Such a run is computed from the same inputs. All memory is taken when the
// model is opened and the runner created, so nothing needs to be allocated when a device is lost.
#pragma once
#include "runtime/core/device.h"

namespace longwave::runtime::vulkan {

struct Model;
struct Recording;
struct RunSession;

// The CPU's side of a session. Has no memory where the CPU takes no part.
struct HostSide {
    Session *session = nullptr; // of the CPU
    bool computed = false;      // the newest run failed on the GPU and ran here
};

// Whether the CPU takes part in runs of this model.
bool host_takes_part(const ModelSource &source);
// LW_UNSUPPORTED: fall_back is set and a run entry of the GPU has no equal on the CPU.
lw_status open_host_side(Model &model);
void close_host_side(Model &model);
uint64_t host_side_bytes(const ModelSource &source, uint32_t workers);
lw_status begin_host_side(RunSession &session, uint32_t workers, uint8_t *memory);
void end_host_side(RunSession &session);

// Whether the CPU computes a run that failed on the GPU.
bool falls_back(const RunSession &session, lw_status failed);
lw_status run_on_cpu(RunSession &session, const Recording &recording, const Extent &extent,
                     ThreadPool *thread_pool);
// As Device::read; `area` is an area of the GPU's entry.
void read_from_host(const RunSession &session, const Recording &recording, const Area &area, uint64_t rows,
                    uint8_t *to, uint64_t to_stride);

} // namespace longwave::runtime::vulkan
