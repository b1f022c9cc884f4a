// Halide's expressions as values of a kernel that is written out: so such a kernel has every
// epilogue that Halide's kernels have.
#pragma once
#include "schedules/spirv/program.h"
#include <Halide.h>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace longwave::schedules {

struct ExpressionScope {
    std::map<std::string, gpu::Uint> whole; // variables, never negative
    std::map<std::string, gpu::Float> real;
    // An element of an argument, by the argument's name.
    std::function<gpu::Float(const std::string &argument, const std::vector<gpu::Uint> &at)> read;
};

// Throws SpecError for an expression that has another form than epilogues have.
gpu::Float written_value(gpu::Program &program, const Halide::Expr &value, const ExpressionScope &scope);

} // namespace longwave::schedules
