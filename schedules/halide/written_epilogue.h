// The epilogue of a kernel that is written out (schedules/spirv), one result at a time.
#pragma once
#include "schedules/halide/builder.h"
#include "schedules/spirv/program.h"
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
    std::map<std::string, gpu::Uint> whole; // variables, never negative
    std::map<std::string, gpu::Float> real;
    // An element of an argument, by the argument's name.
    std::function<gpu::Float(const std::string &argument, const std::vector<gpu::Uint> &at)> read;
};

// Throws SpecError for an expression that has another form than epilogues have.
gpu::Float written_value(gpu::Program &program, const Halide::Expr &value, const ExpressionScope &scope);

} // namespace longwave::schedules
