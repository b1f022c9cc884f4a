// Shared by the algorithms of a long convolution: its shape, its taps and their spectra.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/long_conv/load_balancing.h"
#include "schedules/contract/kernels/long_conv_blocks.h"
#include "schedules/contract/twiddles.h"
#include <functional>
#include <optional>

namespace longwave::compiler::convolution {

namespace contract = schedules::contract;

using costs::CostTable;
using costs::Meter;
using costs::Row;
using ir::Decisions;
using ir::Estimate;
using ir::Given;
using ir::KernelCall;
using ir::PlanContext;
using ir::Reach;
using schedules::TwiddleOrder;

struct Shape {
    uint32_t channels, copies, kernels, taps, padded,
        tile; // kernels: rows of k (copies, or twice that when two-sided)
    uint32_t
        given; // copies of the node. With one channel the copies are lanes, and copies of zeros fill the row
    bool two_sided;

    explicit Shape(const PlanContext &context); // taps: at most the rows of an offline run
    uint32_t tiles() const { return padded / tile; }
    uint32_t lane_copies() const { return channels == 1 ? given : copies; } // with lanes over positions
    // The row of the node's k; empty for a row of zeros.
    std::optional<uint32_t> given_row(uint32_t kernel) const;
};

// Calls visit(kernel, channel, of) for each row of k and each channel; `of` is the index of its
// numbers.
void each_kernel(const Shape &shape,
                 const std::function<void(uint32_t kernel, uint32_t channel, size_t of)> &visit);

// The numbers of a kernel that is stored as its scales, and the numbers added to its first taps: D,
// and a short kernel that was merged into the long one.
class Scales {
public:
    uint32_t count = 1, kernel_dim = 1, direct = 1, init_scale = 0;
    bool nearest = false;

    Scales(const KernelCall &call, const Shape &shape, const ir::Node &expand);
    Scales(const KernelCall &call, const Shape &shape); // given taps: one scale that is not stretched
    double weight(uint32_t scale, size_t of, uint32_t j) const;
    double direct_tap(size_t of, uint32_t j) const;

private:
    const ir::Numbers &weights_, *merged_ = nullptr;
    std::vector<double> d_;
    size_t rows_ = 1;
    uint32_t merged_taps_ = 1;
};

// Why blocks of this stream have no transform; empty: they have one.
std::string no_transform(const PlanContext &context);
// True if the kernels of this stream vectorize over positions: there are fewer channels than lanes.
bool lanes_over_positions(const PlanContext &context);
// The factor by which idle lanes raise the cost per element of kernels that vectorize over
// channels. The cost tables hold figures of full vectors.
double idle_lanes(const PlanContext &context);
// Cost tables that several algorithms read; each is in the file of the algorithm that names it.
extern const CostTable transform_table;                    // right_angle.cc
extern const CostTable lanes_level_table, partition_table; // position_vectorized.cc, partitioned.cc
extern const CostTable lanes_partition_table, one_channel_table;
// ns per output element of a transform of that length, forward and inverse.
double transform_cost(const PlanContext &context, uint32_t length);
// The same of the transform of blocks of `rows` rows, which may be longer.
double block_transform_cost(const PlanContext &context, uint32_t rows);
// How many times as many points as rows the transform of a block of `rows` rows has.
double points_of_a_row(const PlanContext &context, uint32_t rows);
// ns per output element of one product of spectra, if the partitions hold `taps` taps in all. The
// spectra of all layers pass through the caches before the spectra of this layer are needed again.
double product_cost(const PlanContext &context, double taps);

// k [taps, kernels, P(channels)] with D in tap 0: constants of the artifact, or expanded when the
// model is opened. `keep`: it stays as long as the model. Else only until its spectrum is computed.
Place taps_of(KernelCall &call, const Shape &shape, bool keep);
// The same for kernels that only transform them, and need no lanes without a channel. `dense`: constants
// [taps, kernels, channels].
struct TapsForSpectra {
    Place place;
    bool dense = false;
};
TapsForSpectra taps_for_spectra(KernelCall &call, const Shape &shape);

// `count` partitions of `rows` taps each, from tap `first` on, with a transform of `length` points. It
// is longer than the partitions where these have no transform themselves.
struct Partitions {
    uint32_t rows = 0, length = 0, count = 1, first = 0;

    // The param `rows` of kernels of one transform. Absent where the transform is as long as the rows.
    contract::Optional<1, 1 << 20> rows_param() const {
        if (rows == length) return {};
        return rows;
    }
};
// All taps, in one transform.
inline Partitions one_partition(uint32_t length) { return {.rows = length, .length = length}; }
// The length of the transform of blocks of `rows` rows in a stream: rows, or the next possible one.
uint32_t transform_length(const PlanContext &context, uint32_t rows);
// Spectra of the partitions of the kernel, computed in float64 when the model is opened: [copies,
// length, count, 2, T] per tile of channels, or [copies, length/16, count, 2, 16] per channel if kernels
// vectorize over positions. `keep`: it stays as long as the model. Else only while the model is
// opened.
Place spectrum_of(KernelCall &call, const Shape &shape, const Partitions &partitions, bool keep = true);
Place twiddles(KernelCall &call, uint32_t length, TwiddleOrder order = TwiddleOrder::by_block);

// The call of a kernel K that transforms `length` rows at a time, all of a sequence or one block
// after the other.
template <class K> Status plan_transform(KernelCall &call) {
    const Shape shape(call.context);
    const uint32_t length = call.decisions().at("length");
    call.channel_tiles(shape.tiles(), shape.tile * sizeof(float));
    call.kernel<K>(
        {.length = length, .rows = call.rows(), .copies = shape.copies, .channels = shape.channels},
        {.u = call.all_rows_of(0),
         .spectrum = spectrum_of(call, shape, one_partition(length)),
         .twiddles = twiddles(call, length),
         .y = call.result_rows()});
    return Status::ok();
}
// [copies, length, 2] for each channel of each tile, in the order of kernels whose lanes are the phases of
// one channel; computed in float64 when the model is opened. And their twiddles (polyphase.cc).
struct PhasesPlaces {
    Place spectrum, twiddles;
};
PhasesPlaces phases_places(KernelCall &call, const Shape &shape, uint32_t length);
// The call of such a kernel K.
template <class K> Status plan_phases(KernelCall &call) {
    const Shape shape(call.context);
    const uint32_t length = call.decisions().at("length");
    call.channel_tiles(shape.tiles(), shape.tile * sizeof(float));
    const PhasesPlaces places = phases_places(call, shape, length);
    call.kernel<K>(
        {.length = length, .rows = call.rows(), .copies = shape.lane_copies(), .channels = shape.channels},
        {.u = call.all_rows_of(0),
         .spectrum = places.spectrum,
         .twiddles = places.twiddles,
         .y = call.result_rows()});
    return Status::ok();
}

// The memory and tables of a call of long_conv_partitioned, per tile of channels.
struct PartitionedPlaces {
    Place past,
        newest; // ring of spectra of past blocks [tiles, length, partitions, 2, T]; the present block has
                // slot f mod partitions
    Place tail, tail_out; // the imaginary part of the last block
    Place spectrum, twiddles;
};
PartitionedPlaces partitioned_places(KernelCall &call, const Shape &shape, const Partitions &partitions,
                                     const std::string &prefix);
contract::LongConvPartitioned partitioned_params(const Shape &shape, const Partitions &partitions);
// The call, over the newest block of the input. An offline run on a GPU has one call per block, in
// order.
void call_partitioned(KernelCall &call, const Shape &shape, const Partitions &partitions);

// The same for kernels that vectorize over positions: spectra of past blocks [channels, length/16,
// partitions, 2, 16], the tail [2, channels, copies, rows].
struct LanePlaces {
    Place past, newest, tail, tail_out, spectrum, twiddles;
};
LanePlaces lane_places(KernelCall &call, const Shape &shape, const Partitions &partitions,
                       const std::string &prefix);
// The results of large partitions, [channels, copies, 2, large]: one half is written while the
// other is read.
struct LargeRows {
    Place all;
    uint32_t rows = 0; // of a large block
};
// `large`: rows to add, block by block, of each level.
void call_lanes(KernelCall &call, const Shape &shape, const Partitions &partitions,
                const std::vector<LargeRows> &large);

// Products of spectra may be computed for several large blocks at a time, each time for another
// part of the positions. Spectra are then read that many times less often. The measured cost, as a
// fraction of the cost one by one; over positions with spectra in a shared cache.
constexpr double products_ahead_share(uint32_t rounds, bool over_positions) {
    if (over_positions) return rounds == 1 ? 1 : rounds == 2 ? 0.9 : rounds == 4 ? 0.75 : 0.7;
    return rounds == 1 ? 1 : rounds == 2 ? 0.6 : rounds == 4 ? 0.45 : 0.38;
}

// Slices whose products are computed ahead take turns: in each round another slice, the others add the input
// that came since. The place of the slice that was computed `ago` rounds ago, of `ahead` slices of so many
// bytes from number `first` on; it moves from slice to slice, round by round.
inline Place slice_in_turn(Place place, uint64_t first, uint64_t slice_bytes, uint32_t ahead, uint32_t ago) {
    place.offset += first * slice_bytes;
    place.slots = ahead;
    place.slot_bytes = slice_bytes;
    place.slot_add = ahead - ago;
    return place;
}
// The sums of these slices in one round. `Slices` has product(), product_ahead() and product_rest(ago).
template <class Slices> Job sums_in_turn(const Slices &slices, uint32_t ahead) {
    if (ahead == 1) return {{slices.product()}, false};
    Job job{.steps = {}, .alone = false};
    for (uint32_t ago = 1; ago < ahead; ago++) job.steps.push_back(slices.product_rest(ago));
    job.steps.push_back(slices.product_ahead());
    return job;
}

// A large block: its input, the place of its results, its number of blocks of the stream, and the
// prefix of the names of its memory.
struct LargeBlock {
    Place u, rows;
    uint32_t blocks = 0;
    std::string prefix;
};
// The work of one large block in pieces, in order. Products of `ahead` large blocks are computed at
// a time.
std::vector<Job> tile_jobs(KernelCall &call, const Shape &shape, const Partitions &partitions, uint32_t ahead,
                           const LargeBlock &block);
// `blocks`: of the stream in the large block.
std::vector<Job> lane_jobs(KernelCall &call, const Shape &shape, const Partitions &partitions, uint32_t ahead,
                           uint32_t blocks, const Place &u, const LargeRows &rows, const std::string &prefix);

// The demands of offline runs on their input: none, or room for complete blocks of `length` rows,
// because a kernel writes rows behind the end, up to the end of the last block.
inline Reach no_demands(const PlanContext &, const Decisions &) { return {}; }
inline Reach complete_blocks(const PlanContext &, const Decisions &decisions) {
    return {.multiple = decisions.at("length")};
}

// An algorithm for offline runs, whose kernels the devices of `kernels` have.
constexpr ir::Algorithm
offline_algorithm(const char *name, devices::KernelSets kernels,
                  Estimate (*estimate)(const PlanContext &context),
                  Reach (*reach)(const PlanContext &context, const Decisions &decisions),
                  Status (*plan)(KernelCall &call), std::span<const CostTable *const> costs = {}) {
    return {.name = name,
            .offline = kernels,
            .stream = devices::no_kernels,
            .estimate = estimate,
            .reach = reach,
            .plan = plan,
            .transformed = [](const Decisions &decisions) { return decisions.at("length"); },
            .costs = costs};
}

inline Scalar newest_slot(const Partitions &p) {
    return {.kind = Scalar::Kind::slot, .mul = 1, .modulus = p.count};
}

inline Place moved(Place place, uint64_t bytes) {
    place.offset += bytes;
    return place;
}

} // namespace longwave::compiler::convolution
