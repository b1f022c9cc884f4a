// The epilogue of a kernel that is written out (schedules/spirv), one result at a time.
#pragma once
#include "schedules/halide/builder.h"
#include "schedules/spirv/program.h"

namespace longwave::schedules {

// What is stored instead of a result, whose coordinates are those of the epilogue's shape.
using WrittenEpilogue = std::function<gpu::Float(const gpu::Float &result, const std::vector<gpu::Uint> &at)>;

// Declares the operands of `epilogue`, in order, as buffers of the program. `shape`: of the result.
WrittenEpilogue declare_epilogue(gpu::Program &program, const KernelBuilder &k,
                                 const KernelBuilder::Epilogue &epilogue, const Shape &shape);

} // namespace longwave::schedules
