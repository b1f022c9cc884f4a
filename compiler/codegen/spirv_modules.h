// All kernels that a GPU calls: from the cache or compiled, as the segment of the artifact that holds them.
#pragma once
#include "compiler/codegen/code.h"
#include "compiler/plan/fp16_storage.h"
#include <map>

namespace longwave::compiler {

// The layers of a plan's GPU entries that the target cannot run and why, a line each; empty: there are none.
struct RefusedOnGpu {
    std::string runs, streams;                 // of run entries, of stream entries
    std::map<std::string, std::string> layers; // of run entries, each with its reason
};
// Compiles their kernels, into the cache as well. Errors: as compile_modules.
Expected<RefusedOnGpu> refused_on_gpu(const std::vector<EntryPlan> &entries, const targets::Target &gpu,
                                      const Options &options);

// What the kernels of GPU entries take, none of which is refused. Errors: as compile_modules.
Expected<KernelSignatures> signatures_on_gpu(const std::vector<EntryPlan> &entries,
                                             const targets::Target &gpu, const Options &options);

// Adds to `code` the segment, and the signatures of the kernels that only a GPU calls. Kernels that streams call see
// many of them at once (compiler/spirv/rewrite_batch.h). No layer of the entries is one of refused_on_gpu.
// Errors: Fault::device and Fault::internal as compile_code; Fault::input: more buffers than the target binds.
Status compile_modules(const Specs &specs, const std::vector<EntryPlan> &entries, const targets::Target &gpu,
                       const Options &options, Code &code);

} // namespace longwave::compiler
