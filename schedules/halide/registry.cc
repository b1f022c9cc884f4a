#include "schedules/halide/registry.h"
#include <map>

namespace longwave::schedules {

namespace {

// Made by whichever file comes first: the order of initialisation among files is open.
std::map<std::string, BuildFunction> &table(targets::Kind kind) {
    static std::map<std::string, BuildFunction> cpu, gpu;
    return kind == targets::Kind::gpu ? gpu : cpu;
}

} // namespace

Kernel::Kernel(const char *name, BuildFunction cpu, BuildFunction gpu) {
    if (cpu) table(targets::Kind::cpu).emplace(name, cpu);
    if (gpu) table(targets::Kind::gpu).emplace(name, gpu);
}

GpuSchedule::GpuSchedule(const char *name, BuildFunction build) {
    table(targets::Kind::gpu).emplace(name, build);
}

BuildFunction find_kernel(const std::string &name, targets::Kind kind) {
    const auto found = table(kind).find(name);
    return found == table(kind).end() ? nullptr : found->second;
}

} // namespace longwave::schedules
