// Transforms of whole sequences, as Orchid's code names them: "fft" (forward divided by the length, so
// that a product of two transforms gives 1/L times the circular convolution), "fft-o" (orthonormal),
// "dct" (DCT-II with factor 2), "dctxd-o" (orthonormal DCT-II); each with its exact inverse.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"
#include <complex>

namespace longwave::ir {

struct SequenceTransform {
    bool cosine = false, orthonormal = false;

    static Expected<SequenceTransform> parse(const std::string &name);
    static SequenceTransform of(const Node &node); // attribute `transform`, which has been checked

    uint32_t parts() const { return cosine ? 1 : 2; } // of a bin: real values, or real and imaginary ones
    uint32_t bins(uint32_t length) const { return cosine ? length : length / 2 + 1; }
    // Of the Fourier sums, there and back.
    double forward_scale(uint32_t length) const;
    double inverse_scale(uint32_t length) const;

    // In float64. The imaginary parts of bin 0 and of bin length/2 count as zero on the way back.
    std::vector<std::complex<double>> forward(const std::vector<double> &x) const;
    std::vector<double> inverse(const std::vector<std::complex<double>> &bins, size_t length) const;
};

// Σ_t x_t·exp(sign·2πi·tk/L) for all k, in float64, for any L.
std::vector<std::complex<double>> fourier_sums(const std::vector<std::complex<double>> &x, int sign);

// The channel of a spectrum of rows {parts, channels} or {channels}: its bins.
std::vector<std::complex<double>> bins_of(const Operand &rows, uint32_t parts, size_t channel, size_t bins);

// Kernel params and weights of sequence_transform and sequence_inverse that say which transform it is.
void transform_params(KernelCall &call, const SequenceTransform &transform, uint32_t length, bool inverse);
void transform_weights(KernelCall &call, const SequenceTransform &transform, uint32_t length, bool inverse);

// How kernels of whole sequences with channels in the lanes are cut: the tile, and all channels of it.
struct ChannelTiles {
    uint32_t channels, padded, tile;
    explicit ChannelTiles(uint32_t channels);
    uint32_t count() const { return padded / tile; }
    // A tile a call; on a GPU all of them in one.
    void plan(KernelCall &call) const;
};

// A kernel of at least so many taps. The message says how to compile.
Status check_taps(uint32_t taps, uint32_t rows);
inline const char *around = "it is circular: every output depends on the whole sequence";

} // namespace longwave::ir
