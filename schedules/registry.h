// The one table of kernels: name -> the function that writes it.
#pragma once
#include "schedules/kernel_builder.h"

namespace longwave::schedules {

using BuildFunction = void (*)(KernelBuilder &);

// Null: no such kernel.
BuildFunction find_kernel(const std::string &name);
std::vector<std::string> kernel_names();

} // namespace longwave::schedules
