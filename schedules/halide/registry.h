// The kernels by name. Each schedule file ends with a line that registers the schedules that it
// holds: the one for CPUs, the one for GPUs, or both.
//     const Kernel<contract::Softmax> softmax{softmax_on_cpu, softmax_on_gpu, Fp16::outputs};
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

// A function that writes a kernel of contract K (schedules/contract/kernels).
template <class K> using BuildOf = void (*)(KernelBuilder &, const K &);

void enter(targets::Kind kind, const char *name, Schedule schedule);
template <class K>
void enter(targets::Kind kind, BuildOf<K> build, Fp16 fp16, const std::source_location &at) {
    const auto with_params = [build](KernelBuilder &k) { build(k, k.read<K>()); };
    enter(kind, K::name, {with_params, fp16, at.file_name()});
}

// Registers when the program starts. A name that is registered twice for one kind of device ends
// the program.
template <class K> struct Kernel {
    explicit Kernel(BuildOf<K> cpu, const std::source_location &at = std::source_location::current()) {
        enter<K>(targets::Kind::cpu, cpu, Fp16::none, at);
    }
    Kernel(BuildOf<K> cpu, BuildOf<K> gpu, Fp16 fp16,
           const std::source_location &at = std::source_location::current())
        : Kernel(cpu, at) {
        enter<K>(targets::Kind::gpu, gpu, fp16, at);
    }
};

// A schedule for GPUs in a file of its own.
template <class K> struct GpuSchedule {
    GpuSchedule(BuildOf<K> build, Fp16 fp16,
                const std::source_location &at = std::source_location::current()) {
        enter<K>(targets::Kind::gpu, build, fp16, at);
    }
};

// Null: there is no such kernel, or none for this kind of device.
const Schedule *find_schedule(const std::string &name, targets::Kind kind);

// The names of all kernels for this kind of device, sorted.
std::vector<std::string> kernel_names(targets::Kind kind);

} // namespace longwave::schedules
