// Matrices most of whose numbers are zero, where each output depends on a few neighbouring inputs:
// a mel filter bank. Such a matrix is stored by its bands (kernel banded_linear).
#pragma once
#include "compiler/ir/kernel_call.h"
#include <optional>

namespace longwave::ir {

struct Bands {
    uint32_t width = 0;         // of each
    std::vector<int32_t> first; // input of each output's band
    std::vector<float> weights; // [outputs][width]
};

// `in`: inputs of a row as it lies in memory, those behind the last with weights of zero. Empty:
// bands would take more than a quarter of the numbers, or all are zero.
std::optional<Bands> bands_of(const Numbers &matrix, uint32_t outputs, uint32_t inputs, uint32_t in);

} // namespace longwave::ir
