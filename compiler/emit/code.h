// All kernels of an artifact for all its targets: from the cache or compiled, then linked to one image a
// target.
#pragma once
#include "compiler/compile.h"
#include "compiler/emit/emit.h"
#include "compiler/tuning.h"

namespace longwave::compiler {

struct Code {
    std::vector<schedules::Signature> signatures; // in the order of specs
    std::vector<TargetCode> targets;
    size_t compiled = 0, cached = 0;
    std::string no_cache; // why there was no kernel cache; empty: there was
};

// Errors: Fault::device when a tool is missing or fails, Fault::internal when a kernel's signature differs
// between targets or a plan asks more of it.
Expected<Code> compile_code(const std::vector<std::string> &specs, const std::vector<EntryPlan> &entries,
                            const std::vector<targets::Target> &targets, const Tuning &tuning,
                            const Options &options);

} // namespace longwave::compiler
