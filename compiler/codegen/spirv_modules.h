// The kernels of a device as SPIR-V modules, from the cache or compiled: one segment of the
// artifact.
#pragma once
#include "compiler/codegen/code.h"
#include "compiler/codegen/kernel_cache.h"
#include "compiler/plan/plan_memory.h"

namespace longwave::compiler {

struct ModuleOptions {
    // Steps of a stream that touch at most so many bytes share dispatches (chains.h); 0: none does.
    uint64_t chained_bytes = 0;
    uint32_t variants = 1; // of a kernel, at most
};

// Adds to `code` the segment, and the signatures of the kernels without machine code. A kernel that
// streams call computes many streams at once (compiler/spirv/rewrite_batch.h). The device has every
// kernel (capabilities.h). Does nothing for a device without modules. Errors: Fault::device and
// Fault::internal as compile_code; Fault::input: more buffers than the target binds.
Status compile_modules(const Specs &specs, const std::vector<EntryPlan> &entries, const Storage &storage,
                       const devices::Traits &device, const ModuleOptions &options,
                       const KernelCacheOptions &kernel_cache, Code &code);

} // namespace longwave::compiler
