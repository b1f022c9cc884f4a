// All kernels that a GPU calls: from the cache or compiled, as the segment of the artifact that holds them.
#pragma once
#include "compiler/emit/code.h"

namespace longwave::compiler {

// Adds to `code` the segment, and the signatures of the kernels that only a GPU calls.
// Errors: Fault::input lists, a line each, the layers that the target cannot run and why; Fault::device and
// Fault::internal as compile_code.
Status compile_modules(const Specs &specs, const std::vector<EntryPlan> &entries, const targets::Target &gpu,
                       const Options &options, Code &code);

} // namespace longwave::compiler
