// The transform of a sequence as a matrix (four_step.h) whose points stay in the registers of a GPU's
// threads (schedules/contract/four_step.h).
#pragma once
#include "compiler/ops/support/register_transform.h"
#include "compiler/ops/transforms/four_step.h"

namespace longwave::ir {

struct RegisterFourStep {
    uint32_t channels, copies, rows;
    schedules::FourStepForm form;

    // Empty: the device has no such form for a transform of `length` points, or their buffer is too
    // large.
    static std::optional<RegisterFourStep> of(const PlanContext &context, uint32_t channels, uint32_t copies,
                                              uint32_t rows, uint32_t length);
    // Plans the call. `spectrum`: of the CPU's kernels, as in spectrum_by_threads.
    void plan(KernelCall &call, const std::function<Place()> &spectrum,
              const std::optional<FourStep::Circular> &circular = {}) const;
};

} // namespace longwave::ir
