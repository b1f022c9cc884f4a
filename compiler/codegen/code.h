// All kernels that CPUs call, for all targets: from the cache or compiled, then linked to one image a
// target.
#pragma once
#include "compiler/artifact/emit.h"
#include "compiler/plan/options.h"
#include "compiler/plan/tuning.h"

namespace longwave::compiler {

struct Code {
    std::vector<schedules::Signature> signatures; // in the order of Specs::all
    std::vector<TargetCode> targets;
    std::vector<uint8_t> modules; // what a GPU runs (modules.h); empty: nothing was asked for
    size_t gpu_kernels = 0;
    size_t compiled = 0, cached = 0;
    std::string no_cache; // why there was no kernel cache; empty: there was
};

// Errors: Fault::device when a tool is missing or fails, Fault::internal when a kernel's signature differs
// between targets or a plan asks more of it.
Expected<Code> compile_code(const Specs &specs, const std::vector<EntryPlan> &entries,
                            const std::vector<targets::Target> &targets, const Tuning &tuning,
                            const Options &options);

// Parts of it, for kernels of other machines.
// What each argument's address is aligned to.
void align_arguments(schedules::Signature &signature);
// Plan and kernels agree on the arguments of every step, of GPU entries or of all others.
Status check_steps(const std::vector<std::string> &specs, const std::vector<EntryPlan> &entries,
                   const std::vector<schedules::Signature> &signatures, bool gpu);
bool same_arguments(const schedules::Signature &a, const schedules::Signature &b);

} // namespace longwave::compiler
