// The kernels by name. Each schedule file ends with a line that enters what it wrote:
//     const Kernel softmax{"softmax", build_softmax};
#pragma once
#include "schedules/kernel_builder.h"

namespace longwave::schedules {

using BuildFunction = void (*)(KernelBuilder &);

struct Kernel {
    Kernel(const char *name, BuildFunction build);
};

// Null: no such kernel.
BuildFunction find_kernel(const std::string &name);

} // namespace longwave::schedules
