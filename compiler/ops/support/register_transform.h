// Convolutions of a GPU whose threads keep their points in registers
// (schedules/contract/register_transform.h): what their ops share.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "schedules/contract/register_transform.h"
#include <functional>
#include <optional>

namespace longwave::ir {

// The form on the device of a call. `lanes`: channels of a row that one workgroup may take.
std::optional<schedules::RegisterForm> register_form(const PlanContext &context, uint32_t length,
                                                     uint32_t lanes);

// The spectrum of the CPU's kernels in the order of the threads, made when the model is opened.
// `spectrum`, which has one tile after the other, is called once for all entries. With one channel
// the copies are the lanes.
Place spectrum_by_threads(KernelCall &call, const schedules::RegisterForm &form, uint32_t channels,
                          uint32_t copies, const std::function<Place()> &spectrum);
// Adds the table of roots to the weights of the call.
void register_roots(KernelCall &call, const schedules::RegisterForm &form);

} // namespace longwave::ir
