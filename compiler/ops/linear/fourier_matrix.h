// Matrices that are a discrete Fourier transform of real samples times a window, or the inverse transform. A
// transform reads fewer numbers, and its error is smaller.
#pragma once
#include "compiler/ir/kernel_call.h"
#include <optional>

namespace longwave::ir {

// A spectrum of n_fft samples has n_fft/2 + 1 real parts and then as many imaginary ones.
struct FourierMatrix {
    uint32_t n_fft = 0;
    std::vector<int32_t> which; // forward: the number of the spectrum that each output is
    std::vector<float> window;  // forward: of each sample. Empty: ones
    std::vector<float> scale;   // inverse: of each sample, with 1/n_fft. Empty: forward
};

// `matrix`: [outputs, inputs]. The weights of the first real part are the window, whatever their order; a
// matrix without that output may be one with a window of ones. Empty: it is none, no kernel transforms that
// size, or few outputs take less by themselves.
std::optional<FourierMatrix> fourier_matrix(const Numbers &matrix, uint32_t outputs, uint32_t inputs);

} // namespace longwave::ir
