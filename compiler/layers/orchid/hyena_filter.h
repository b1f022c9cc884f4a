// The implicit kernel of Hyena (Poli et al. 2023), which Orchid uses for its static kernels: an MLP
// with sines of a position, times an exponential decay.
#pragma once
#include "compiler/layers/lowering.h"

namespace longwave::compiler::layers {

// Taps [width, l_max] in float64 and the bias [width], as constants, from the tensors under
// `prefix` ("fixed_conv"). A filter of sequences shorter than l_max is cut, not resampled. `inner`:
// layers between the first and the last.
struct HyenaFilter {
    ir::ValueId taps, bias;
};
HyenaFilter hyena_filter(Lowering &lowering, const Layer &layer, const std::string &prefix, uint32_t width,
                         uint32_t l_max, uint32_t order, uint32_t emb_dim, uint32_t inner, double shift);

} // namespace longwave::compiler::layers
