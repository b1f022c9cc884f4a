// Orchid's conditioning networks: from a projection of the sequence to the kernel that this
// sequence is convolved with (Karami and Ghodsi 2024, Eq. 2 and 3; the variants of the published
// code).
#pragma once
#include "compiler/layers/lowering.h"
#include <optional>

namespace longwave::compiler::layers {

struct AdaptiveKernel {
    Flow rows;
    bool in_time = false; // taps, one a row; else its spectrum
};

// `x`: {width} features a row. Failure: a combination of attributes that the published code cannot
// run either.
Expected<AdaptiveKernel> orchid_kernel(Lowering &lowering, const Layer &layer, Flow x);

// Rows of the transform of a sequence: {2, width} or {width}.
Expected<Flow> orchid_spectrum(Lowering &lowering, const Layer &layer, Flow x, bool doubled = false,
                               bool magnitude = false);

} // namespace longwave::compiler::layers
