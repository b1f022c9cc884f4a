// The kernels by name. Each schedule file ends with a line that enters what it wrote: the schedule for CPUs,
// and that for GPUs where it has one.
//     const Kernel softmax{"softmax", on_processor, on_gpu};
#pragma once
#include "schedules/halide/builder.h"

namespace longwave::schedules {

using BuildFunction = void (*)(KernelBuilder &);

struct Kernel {
    Kernel(const char *name, BuildFunction cpu, BuildFunction gpu = nullptr);
};

// The schedules of gpu/, where they stand in a file of their own.
struct GpuSchedule {
    GpuSchedule(const char *name, BuildFunction build);
};

// Null: no such kernel, or none for this kind of machine.
BuildFunction find_kernel(const std::string &name, targets::Kind kind);

} // namespace longwave::schedules
