// All kernels in machine code, for all CPU targets: from the cache or compiled, then linked to one
// image per target.
#pragma once
#include "compiler/artifact/emit.h"
#include "compiler/codegen/kernel_cache.h"

namespace longwave::compiler {

struct Code {
    std::vector<schedules::Signature> signatures; // in the order of Specs::all
    std::vector<TargetCode> targets;
    std::vector<uint8_t> modules; // segment of a device (modules.h); empty: there is none
    size_t module_kernels = 0;
    // Of each entry of a device with modules, by its name: dispatches of a run, or the most of a
    // block.
    std::map<std::string, size_t> dispatches;
    size_t compiled = 0, cached = 0;
    std::string no_cache; // why there was no kernel cache; empty: there was
};

// Errors: Fault::device when a tool is missing or fails, Fault::internal when a kernel's signature
// differs between targets or a plan asks more of it.
Expected<Code> compile_code(const Specs &specs, const std::vector<EntryPlan> &entries,
                            const std::vector<targets::Target> &targets, KernelCacheOptions options);

// Parts of it that other containers use.
// Sets the alignment of each argument.
void align_arguments(schedules::Signature &signature);
// Plan and kernels agree on the arguments of every step whose code lies in this container.
Status check_steps(const std::vector<std::string> &specs, const std::vector<EntryPlan> &entries,
                   const std::vector<schedules::Signature> &signatures, devices::CodeContainer container);
bool same_arguments(const schedules::Signature &a, const schedules::Signature &b);

} // namespace longwave::compiler
