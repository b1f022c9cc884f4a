// The long kernel of SGConv as a value, for every layer that has one.
#pragma once
#include "compiler/layers/lowering.h"

namespace longwave::compiler::layers {

// Taps [rows, heads, K] of the parameters kernel_list.#, kernel_norm, kernel_norm_initialized,
// multiplier and decay of `layer`, whose attributes are kernel_dim, l_max, mode, init_scale and,
// where given, num_scales and resolution. `rows`: copies of each head, then as many backward
// kernels where it is two-sided.
Expected<Flow> multi_scale_taps(Lowering &lowering, const Layer &layer, uint32_t rows, uint32_t heads);

} // namespace longwave::compiler::layers
