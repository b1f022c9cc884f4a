// Clusters of a softmax that a generator cannot pick (compiler/ops/linear/skip_mask.h).
#pragma once
#include "schedules/halide/internals.h"

namespace longwave::schedules {

// Iterations of an outermost loop over work that may be skipped: 1 where the value of the mask says that
// the work is wanted, else 0. As an extent it skips reads and sums; a condition would stand inside
// the loops.
inline Halide::Expr turns_wanted(const Halide::ImageParam &mask, int value) {
    return Halide::select(load_for_extent(mask, value, 0) > 0.0f, 1, 0);
}

} // namespace longwave::schedules
