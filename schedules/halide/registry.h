// The kernels by name. Each schedule file ends with a line that registers the schedules that it
// holds: the one for CPUs, the one for GPUs, or both.
//     const Kernel softmax{"softmax", softmax_on_cpu, softmax_on_gpu, Fp16::outputs};
#pragma once
#include "schedules/halide/builder.h"
#include <functional>
#include <source_location>

namespace longwave::schedules {

using BuildFunction = std::function<void(KernelBuilder &)>;

// Which activations of a GPU kernel memory may hold as float16 instead of float32 (IEEE 754
// binary16). Arithmetic stays float32. In-out arguments, integers and float64 never may. Choose
// `none` for a side where float16 loses the result: values beyond 65,504 (powers, sums over all
// rows), exponents (float16 holds 100 to within 0.03, of which e^x makes 3 %), decays (a decay is 1
// to within 2^-12: a memory of 4,096 rows), the -1e30 of an empty softmax, and counts or sums that
// a stream carries.
enum class Fp16 : uint8_t { none = 0, inputs = 1, outputs = 2, inputs_and_outputs = 3 };

struct Schedule {
    BuildFunction build = nullptr;
    Fp16 fp16 = Fp16::none;
    std::string_view file; // the source file that registers it, as the compiler names it
};

// Registers when the program starts. A name that is registered twice for one kind of device ends
// the program.
struct Kernel {
    Kernel(const char *name, BuildFunction cpu, std::source_location at = std::source_location::current());
    Kernel(const char *name, BuildFunction cpu, BuildFunction gpu, Fp16 fp16,
           std::source_location at = std::source_location::current());
};

// The same for a kernel with a contract K (schedules/contract/kernels), whose params the function takes.
template <class K> using BuildOf = void (*)(KernelBuilder &, const K &);
template <class K> BuildFunction with_params(BuildOf<K> build) {
    return [build](KernelBuilder &k) { build(k, k.read<K>()); };
}
template <class K> struct KernelOf : Kernel {
    KernelOf(BuildOf<K> cpu, std::source_location at = std::source_location::current())
        : Kernel(K::name, with_params<K>(cpu), at) {}
    KernelOf(BuildOf<K> cpu, BuildOf<K> gpu, Fp16 fp16,
             std::source_location at = std::source_location::current())
        : Kernel(K::name, with_params<K>(cpu), with_params<K>(gpu), fp16, at) {}
};

// A schedule for GPUs in a file of its own.
struct GpuSchedule {
    GpuSchedule(const char *name, BuildFunction build, Fp16 fp16,
                std::source_location at = std::source_location::current());
};

template <class K> struct GpuScheduleOf : GpuSchedule {
    GpuScheduleOf(BuildOf<K> build, Fp16 fp16, std::source_location at = std::source_location::current())
        : GpuSchedule(K::name, with_params<K>(build), fp16, at) {}
};

// Null: there is no such kernel, or none for this kind of device.
const Schedule *find_schedule(const std::string &name, targets::Kind kind);

// The names of all kernels for this kind of device, sorted.
std::vector<std::string> kernel_names(targets::Kind kind);

} // namespace longwave::schedules
