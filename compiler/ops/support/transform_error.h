// What a transform in float32 does to the rows that it computes, as one draw of its errors.
#pragma once
#include "compiler/ir/op.h"

namespace longwave::ir {

// Adds to each column the error of a transform over blocks of `points` rows, in float32, one way. The
// error of a sum is relative to its terms. That of a transform is white, and relative to the root
// mean square of its block: log2(points) levels with independent errors of up to one unit roundoff u
// make 0.6 u √log2(points) of it (Gentleman and Sande, "Fast Fourier transforms: for fun and profit",
// 1966, with the mean square of their errors). The same seed gives the same draw.
void add_transform_error(Array &rows, uint32_t points, uint32_t seed);

} // namespace longwave::ir
