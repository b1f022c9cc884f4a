// What the algorithms of a long convolution share: its shape, its taps, their spectra.
#pragma once
#include "compiler/ops/kernel_call.h"
#include <functional>
#include <optional>

namespace longwave::compiler::convolution {

using ir::Estimate;
using ir::Figures;
using ir::KernelCall;
using ir::Reach;
using ir::Situation;

struct Shape {
    uint32_t channels, copies, kernels, taps, padded,
        tile;       // kernels: rows of k (copies, or twice that when two-sided)
    uint32_t given; // copies the node has: those of one channel are lanes, and more of zeros fill up the row
    bool two_sided;

    explicit Shape(const Situation &situation); // taps: no more than a whole run can look back on
    uint32_t tiles() const { return padded / tile; }
    // The row of the node's k, or none for a row of zeros.
    std::optional<uint32_t> given_row(uint32_t kernel) const;
};

// Calls visit(kernel, channel, row): for each row of k that the node has and each channel, where the numbers
// lie.
void each_kernel(const Shape &shape,
                 const std::function<void(uint32_t kernel, uint32_t channel, size_t of)> &visit);

// The numbers of a kernel that is kept as its scales, and what is added to its first taps: D, and a short
// kernel that was merged into the long one.
class Scales {
public:
    uint32_t count = 1, kernel_dim = 1, direct = 1;

    Scales(const KernelCall &call, const Shape &shape, const ir::Node &expand);
    double weight(uint32_t scale, size_t of, uint32_t j) const;
    double direct_tap(size_t of, uint32_t j) const;

private:
    const ir::Numbers &weights_, *merged_ = nullptr;
    std::vector<double> d_;
    size_t rows_ = 1;
    uint32_t merged_taps_ = 1;
};

// Why blocks of this stream cannot be transformed; empty when they can.
std::string no_transform(const Situation &situation);
// What one product of spectra costs an output element when partitions hold `taps` taps in all: the spectra of
// every layer, the signals' and the kernels', pass through the caches before this layer's are needed again.
double product_cost(const Situation &situation, double taps);

// k [taps, kernels, P(channels)] with D in tap 0: constants of the artifact, or expanded when the model is
// opened. Kept for the model's life, or only until a spectrum is made of it.
Place taps_of(KernelCall &call, const Shape &shape, bool keep);

// `count` partitions of `length` taps each, from tap `first` on.
struct Partitions {
    uint32_t length = 0, count = 1, first = 0;
};
// Spectra of partitions of the kernel, [copies, length, count, 2, T] for each tile of channels; computed in
// float64 at open.
Place spectrum_of(KernelCall &call, const Shape &shape, const Partitions &partitions);
Place twiddles(KernelCall &call, uint32_t length);

void shape_params(KernelCall &call, const Shape &shape);

// What a call of long_conv_partitioned remembers and reads, for each tile of channels.
struct PartitionedPlaces {
    Place past, newest; // ring of spectra of past blocks [tiles, block, partitions, 2, T]; this block's go to
                        // slot f mod partitions
    Place tail, tail_out; // the imaginary part of the last block
    Place spectrum, twiddles;
};
PartitionedPlaces partitioned_places(KernelCall &call, const Shape &shape, const Partitions &partitions,
                                     const std::string &prefix);
// The call itself, over the newest block of the input.
void call_partitioned(KernelCall &call, const Shape &shape, const Partitions &partitions);

inline Scalar newest_slot(const Partitions &p) {
    return {.kind = Scalar::Kind::slot, .mul = 1, .modulus = p.count};
}

} // namespace longwave::compiler::convolution
