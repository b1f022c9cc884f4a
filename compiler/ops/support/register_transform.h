// Convolutions of a GPU whose threads keep their points in registers
// (schedules/contract/register_transform.h): what their ops share.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "schedules/contract/four_step.h"
#include <functional>
#include <optional>

namespace longwave::ir {

// The form on the device of a call. `lanes`: channels of a row that one workgroup may take.
std::optional<schedules::RegisterForm> register_form(const PlanContext &context, uint32_t length,
                                                     uint32_t lanes);

// How threads have a spectrum of `length` points: `slots` of each worker, which need not all be of
// meaning, and `lanes` of a workgroup.
struct SpectrumOrder {
    uint32_t length, slots, workers, lanes;
    // Of each slot and worker [slot][worker]: where the CPU's spectrum has that point.
    std::function<std::vector<int32_t>()> places;
    explicit SpectrumOrder(const schedules::RegisterForm &form);
    explicit SpectrumOrder(const schedules::FourStepForm &form); // the slots of all rows of the matrix
};

// The spectrum of the CPU's kernels in the order of the threads, made when the model is opened.
// `spectrum`, which has one tile after the other, is called once for all entries. With one channel
// the copies are the lanes.
Place spectrum_by_threads(KernelCall &call, const SpectrumOrder &order, uint32_t channels, uint32_t copies,
                          const std::function<Place()> &spectrum);
// The table of roots.
Place register_roots(KernelCall &call, const schedules::Radices &radices);

} // namespace longwave::ir
