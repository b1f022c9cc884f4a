// Transforms of sequences, with the names of Orchid's code: "fft" (the forward transform is divided
// by the length, so that a product of two transforms gives 1/L times the circular convolution),
// "fft-o" (orthonormal), "dct" (DCT-II with factor 2) and "dctxd-o" (orthonormal DCT-II). Each has
// its exact inverse.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"
#include <complex>
#include <optional>
#include <string>

namespace longwave::ir {

struct SequenceTransform {
    bool cosine = false, orthonormal = false;

    static Expected<SequenceTransform> parse(const std::string &name);
    static SequenceTransform of(const Node &node); // from the checked attribute `transform`

    uint32_t parts() const { return cosine ? 1 : 2; } // numbers per bin: real, or real and imaginary
    uint32_t bins(uint32_t length) const { return cosine ? length : length / 2 + 1; }
    std::string name() const { return cosine ? "cosine" : "fourier"; } // of the kernels
    // The factors of the forward and inverse Fourier sums.
    double forward_scale(uint32_t length) const;
    double inverse_scale(uint32_t length) const;

    // In float64. The inverse takes the imaginary parts of bin 0 and bin length/2 as zero.
    std::vector<std::complex<double>> forward(const std::vector<double> &x) const;
    std::vector<double> inverse(const std::vector<std::complex<double>> &bins, size_t length) const;
};

// Σ_t x_t·exp(sign·2πi·tk/L) for all k, in float64, for any L.
std::vector<std::complex<double>> fourier_sums(const std::vector<std::complex<double>> &x, int sign);

// The bins of one channel of a spectrum with rows {parts, channels} or {channels}.
std::vector<std::complex<double>> bins_of(const Operand &rows, uint32_t parts, size_t channel, size_t bins);

// The tables of sequence_transform and sequence_inverse.
struct TransformTables {
    Place twiddles;
    std::optional<Place> cosines;
};
TransformTables transform_tables(KernelCall &call, const SequenceTransform &transform, uint32_t length,
                                 bool inverse);

// The tiling of offline kernels with channels in the lanes.
struct ChannelTiles {
    uint32_t channels, padded, tile;
    explicit ChannelTiles(uint32_t channels);
    uint32_t count() const { return padded / tile; }
    // One tile per call; on a GPU all tiles in one call: true, which is the param `all` of kernels.
    bool plan(KernelCall &call) const;
};

// Fault::input: the kernel has fewer taps. The message says how to compile.
Status check_taps(uint32_t taps, uint32_t rows);
inline const char *around = "it is circular: every output depends on the whole sequence";

} // namespace longwave::ir
