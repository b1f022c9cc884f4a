// What may be left out (compiler/ops/linear/skip_mask.h).
#pragma once
#include <Halide.h>

namespace longwave::schedules {

// Turns of an outermost loop over what may be left out: 1 where the value of the advice says that it is wanted, else
// 0. An extent, so that nothing inside is read or computed; a condition would stand inside of the loops. The load is
// written out because an extent may not call a Func, which an ImageParam is.
inline Halide::Expr turns_wanted(const Halide::ImageParam &advice, int value) {
    const Halide::Expr wanted = Halide::Internal::Call::make(advice.parameter(), {value, 0});
    return Halide::select(wanted > 0.0f, 1, 0);
}

} // namespace longwave::schedules
