// What the algorithms of a long convolution share: its shape, its taps, their spectra.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/long_conv/load_balancing.h"
#include <functional>
#include <optional>

namespace longwave::compiler::convolution {

using ir::Estimate;
using ir::Decisions;
using ir::KernelCall;
using ir::Reach;
using ir::PlanContext;
using costs::CostTable;
using costs::Meter;
using costs::Row;

struct Shape {
    uint32_t channels, copies, kernels, taps, padded,
        tile;       // kernels: rows of k (copies, or twice that when two-sided)
    uint32_t given; // copies the node has: those of one channel are lanes, and more of zeros fill up the row
    bool two_sided;

    explicit Shape(const PlanContext &context); // taps: no more than a whole run can look back on
    uint32_t tiles() const { return padded / tile; }
    uint32_t lane_copies() const { return channels == 1 ? given : copies; } // with lanes over positions
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
std::string no_transform(const PlanContext &context);
// Whether a stream's kernels have their lanes over positions: there are fewer channels than lanes.
bool lanes_over_positions(const PlanContext &context);
// How many times as much an element costs kernels whose lanes are channels, where there are few of these:
// the cost tables hold figures of full vectors.
double idle_lanes(const PlanContext &context);
// Cost tables that several algorithms read; each is in the file of the algorithm that names it.
extern const CostTable transform_table;                    // right_angle.cc
extern const CostTable lanes_level_table, partition_table; // position_vectorized.cc, partitioned.cc
extern const CostTable lanes_partition_table, one_channel_table;
// What a transform of that length there and back costs an output element, or one level of it one way.
double transform_cost(const PlanContext &context, uint32_t length);
// What one product of spectra costs an output element when partitions hold `taps` taps in all: the spectra of
// every layer, the signals' and the kernels', pass through the caches before this layer's are needed again.
double product_cost(const PlanContext &context, double taps);

// k [taps, kernels, P(channels)] with D in tap 0: constants of the artifact, or expanded when the model is
// opened. Kept for the model's life, or only until a spectrum is made of it.
Place taps_of(KernelCall &call, const Shape &shape, bool keep);

// `count` partitions of `length` taps each, from tap `first` on.
struct Partitions {
    uint32_t length = 0, count = 1, first = 0;
};
// Spectra of partitions of the kernel, [copies, length, count, 2, T] for each tile of channels, or, with
// lanes over positions, [copies, count, 2, length] for each channel; computed in float64 at open.
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
// The call itself, over the newest block of the input; of a whole run on a GPU, one for each block in order.
void call_partitioned(KernelCall &call, const Shape &shape, const Partitions &partitions);

// The same with lanes over positions: spectra of past blocks [channels, partitions, 2, block], the tail
// [2, channels, copies, block].
struct LanePlaces {
    Place past, newest, tail, tail_out, spectrum, twiddles;
};
LanePlaces lane_places(KernelCall &call, const Shape &shape, const Partitions &partitions,
                       const std::string &prefix);
// What large partitions give, [channels, copies, 2, large]: one half is written while the other is read.
struct LargeRows {
    Place all;
    uint32_t length = 0;
};
// `large`: rows to be added, block by block.
void call_lanes(KernelCall &call, const Shape &shape, const Partitions &partitions,
                const std::optional<LargeRows> &large);

// Products of spectra may be computed for several large blocks at a time, in each of them for another part of
// the positions (long_conv_passes.cc), so that spectra are read that many times less often. What they cost then,
// of what they cost one by one; measured.
constexpr double products_ahead_share(uint32_t rounds) {
    return rounds == 1 ? 1 : rounds == 2 ? 0.6 : rounds == 4 ? 0.45 : 0.38;
}

// A large block: its input, where its results go, how many blocks of the stream it has, and how its memory is
// called.
struct LargeBlock {
    Place u, rows;
    uint32_t blocks = 0;
    std::string prefix;
};
// The work of one in pieces, in order; products of `ahead` large blocks at a time.
std::vector<Job> tile_jobs(KernelCall &call, const Shape &shape, const Partitions &partitions, uint32_t ahead,
                           const LargeBlock &block);
std::vector<Job> lane_jobs(KernelCall &call, const Shape &shape, const Partitions &partitions, const Place &u,
                           const LargeRows &rows);

inline Scalar newest_slot(const Partitions &p) {
    return {.kind = Scalar::Kind::slot, .mul = 1, .modulus = p.count};
}

inline Place moved(Place place, uint64_t bytes) {
    place.offset += bytes;
    return place;
}

} // namespace longwave::compiler::convolution
