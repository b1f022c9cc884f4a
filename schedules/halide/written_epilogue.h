// The epilogue of a kernel that is written out (schedules/gpu), one result at a time.
#pragma once
#include "schedules/gpu/program.h"
#include "schedules/halide/builder.h"
#include <Halide.h>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace longwave::schedules {

// What is stored instead of a result, whose coordinates are those of the epilogue's shape.
using WrittenEpilogue = std::function<gpu::Float(const gpu::Float &result, const std::vector<gpu::Uint> &at)>;

// Declares the operands of `epilogue`, in order, as buffers of the program. `shape`: of the result.
WrittenEpilogue declare_epilogue(gpu::Program &program, const KernelBuilder &k,
                                 const KernelBuilder::Epilogue &epilogue, const Shape &shape);

// Halide's expressions as values of a kernel that is written out: so such a kernel has every
// epilogue that Halide's kernels have.

struct ExpressionScope {
    std::map<std::string, gpu::Uint> u32; // variables, never negative
    std::map<std::string, gpu::Float> f32;
    // An element of an argument, by the argument's name.
    std::function<gpu::Float(const std::string &argument, const std::vector<gpu::Uint> &at)> read;
};

// Throws SpecError for an expression that has another form than epilogues have.
gpu::Float written_value(gpu::Program &program, const Halide::Expr &value, const ExpressionScope &scope);

} // namespace longwave::schedules
