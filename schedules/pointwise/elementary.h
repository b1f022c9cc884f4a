// Functions of one float32 value, written from exp and arithmetic so that kernels need no libm.
// Measured errors stand in elementary.cc.
#pragma once
#include <Halide.h>

namespace longwave::schedules {

Halide::Expr erf32(Halide::Expr x);
Halide::Expr gelu(const Halide::Expr &x); // exact form: x·Φ(x)
Halide::Expr sigmoid(const Halide::Expr &x);
// (1 - sigmoid(x))·a + sigmoid(x)·b + more. Near a and near b what is left of the other has its own digits.
Halide::Expr sigmoid_blend(const Halide::Expr &x, const Halide::Expr &a, const Halide::Expr &b,
                           const Halide::Expr &more = 0.0f);
Halide::Expr hyperbolic_tangent(const Halide::Expr &x);
// Slower, within 1e-7: a cell that holds its value for thousands of rows adds up errors of one sign.
Halide::Expr hyperbolic_tangent_of_cell(const Halide::Expr &x);
Halide::Expr silu(const Halide::Expr &x);
Halide::Expr logarithm(const Halide::Expr &x);          // of max(x, smallest normal)
Halide::Expr small_power_of_two(const Halide::Expr &x); // of x <= 0; 0 from -127 down
Halide::Expr whole_below(const Halide::Expr &x);
Halide::Expr nearest_whole(const Halide::Expr &x);
Halide::Expr sine(const Halide::Expr &x); // of radians
Halide::Expr cosine(const Halide::Expr &x);

// Of an angle in 2^-32 turns, an int32 that wraps where turns do.
struct Rotation {
    Halide::Expr cosine, sine;
};
Rotation rotation_of(const Halide::Expr &phase);

} // namespace longwave::schedules
