// Pointwise ops: what a kernel may apply to its results while they are in registers.
#pragma once
#include "schedules/halide/params.h"
#include <Halide.h>
#include <functional>
#include <string>
#include <vector>

namespace longwave::schedules {

// What the operands of an op look like beside the output: one row (all dimensions but the last), or
// the output's own shape.
enum class Operands { none, row, whole };

struct PointwiseOp {
    const char *name;
    Operands kind;
    std::vector<const char *> operands; // their names
    std::vector<const char *> numbers;  // names of constants in the spec, in ±1e30
    bool nonzero_at_zero;               // f(0) is not 0: padding lanes must be masked
    // `operands` are already read at the element.
    Halide::Expr (*apply)(const Halide::Expr &x, const std::vector<Halide::Expr> &operands,
                          const std::vector<float> &numbers);
};

// Throws SpecError when the entry names no op.
const PointwiseOp &pointwise_op(Params &entry);

} // namespace longwave::schedules
