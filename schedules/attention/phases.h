// Where a row stands, and the angle that is: for kernels that rotate features by their positions.
//
// A phase is a whole number of 2^-64 turns, so that it is as exact after any number of rows as at
// the first one: products and sums wrap where turns do.
#pragma once
#include <Halide.h>

namespace longwave::schedules {

// `now`: rows so far, this call's included (row_count.h).
inline Halide::Expr row_number(const Halide::Expr &now, const Halide::Expr &row, int rows) {
    return Halide::cast<int64_t>(now) + row - rows;
}

// position (uint64) times an angle in two int32 words, in 2^-32 turns: for turn_of.
inline Halide::Expr phase_of(const Halide::Expr &position, const Halide::Expr &high,
                             const Halide::Expr &low) {
    using namespace Halide;
    const auto word = [](const Expr &value) { return cast<uint64_t>(cast<uint32_t>(value)); };
    return cast<int32_t>(cast<uint32_t>((position * ((word(high) << 32) | word(low))) >> 32));
}

} // namespace longwave::schedules
