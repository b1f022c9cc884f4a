// Streams of few channels: kernels that vectorize over positions
// (schedules/long_conv/position_vectorized.cc). Their memory has no padding of channels.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/long_conv_lanes.h"
#include "schedules/contract/twiddles.h"
#include <algorithm>

namespace longwave::compiler::convolution {
namespace {

uint64_t point_bytes(const Partitions &p) { return uint64_t{p.length} * sizeof(float); }
uint64_t row_bytes(const Partitions &p) { return uint64_t{p.rows} * sizeof(float); }
// Of a partition, in each group of 16 bins of a ring or of the kernel's spectra.
constexpr uint64_t group_bytes = uint64_t{2} * schedules::lanes * sizeof(float);
// Of all partitions: so many bins.
uint64_t spectra_bytes(const Partitions &p, uint64_t bins) {
    return bins / schedules::lanes * p.count * group_bytes;
}

// Shared by the pieces of the work of one large block.
struct Pieces {
    const KernelCall &call;
    const Shape &s;
    const Partitions &p;
    LanePlaces places;
    Place work;     // [2, 2, length]: pieces read one half and write the other
    uint32_t ahead; // rounds whose products are computed together
    Place kept;     // [signals, ahead − 1, 2, length]: until then
    uint32_t levels;
    double level_cost, partition_cost; // of all positions
    double most;                       // that a piece should cost

    // The cost of a signal's products in one round.
    double product() const { return products_ahead_share(ahead, true) * partition_cost * p.count; }
    Place half(uint32_t which, bool imaginary) const {
        return moved(work, (2 * (which % 2) + imaginary) * point_bytes(p));
    }
    template <class K>
    Step step(const K &params, const typename K::template Arguments<Given> &arguments, double cost) const {
        Step step{.name = call.node.layer + " " + K::name, .layer = call.node.layer};
        ir::set_kernel(step, params, arguments);
        step.cost = cost;
        return step;
    }
};

// What one kernel call of a transform computes: whole levels, or a slice of one.
struct TransformPiece {
    uint32_t first = 0, last = 0;
    uint32_t slice = 0, butterfly = 0; // so many butterflies from that one on; 0: all
};

// In order. None costs more than Pieces::most, as far as slices allow: so even one channel's work has pieces
// for every block.
std::vector<TransformPiece> transform_pieces(const Pieces &w) {
    std::vector<TransformPiece> pieces;
    const std::vector<schedules::LaneLevel> levels = schedules::lane_levels(w.p.length);
    const auto each = std::max(1u, static_cast<uint32_t>(w.most / w.level_cost));
    for (uint32_t level = 0; level < w.levels; level += each) {
        const uint32_t all = w.p.length / levels[level].radix;
        uint32_t slice = all;
        while (w.p.rows == w.p.length && w.level_cost * slice > w.most * all &&
               schedules::is_lane_slice(levels[level], w.p.length, slice / 2))
            slice /= 2;
        if (slice == all) pieces.push_back({level, std::min(level + each, w.levels)});
        else
            for (uint32_t first = 0; first < all; first += slice)
                pieces.push_back({level, level + 1, slice, first});
    }
    return pieces;
}

// The places of a piece, and its job.
struct TransformStep {
    const Pieces &w;
    const TransformPiece &piece;

    schedules::LaneLevel level() const { return schedules::lane_levels(w.p.length)[piece.first]; }
    // Where the first butterfly reads on the way there and writes on the way back; and the other way.
    Place at_input(Place place) const { return moved(place, piece.butterfly * sizeof(float)); }
    uint32_t bin() const { return piece.butterfly * level().radix; }
    Place at_bin(Place place) const { return moved(place, bin() * sizeof(float)); }
    Place twiddles() const {
        const uint32_t period = level().period;
        return moved(w.places.twiddles, piece.first > 0 ? piece.butterfly % period * sizeof(float) : 0);
    }
    template <class K> Job job(K params, const typename K::template Arguments<Given> &arguments) const {
        double cost = (piece.last - piece.first) * w.level_cost;
        if (piece.slice > 0) {
            params.slice = piece.slice;
            cost *= double(piece.slice) * level().radix / w.p.length;
        }
        return {{w.step(params, arguments, cost)}, piece.slice == 0};
    }
};

// Forward: from the samples to the newest spectrum of the ring.
void add_forward(const Pieces &w, uint32_t channel, const Place &u, std::vector<Job> &jobs) {
    const Place newest = moved(w.places.newest, channel * spectra_bytes(w.p, w.p.length));
    uint32_t half = 0, before = 0;
    for (const TransformPiece &piece : transform_pieces(w)) {
        if (piece.first != before) half++;
        before = piece.first;
        const TransformStep to{w, piece};
        contract::LongConvLanesForward params{.length = w.p.length, .first = piece.first, .last = piece.last};
        contract::LongConvLanesForward::Arguments<Given> arguments{.twiddles = to.twiddles()};
        if (piece.last == w.levels) {
            params.partitions = w.p.count;
            arguments.newest = moved(newest, spectra_bytes(w.p, to.bin()));
        } else {
            arguments.re_out = to.at_bin(w.half(half, false));
            arguments.im_out = to.at_bin(w.half(half, true));
        }
        if (piece.first == 0) {
            if (piece.slice == 0) params.rows = w.p.rows_param();
            params.stride = w.s.padded;
            arguments.u = moved(u, (uint64_t{piece.butterfly} * w.s.padded + channel) * sizeof(float));
        } else {
            arguments.re = to.at_input(w.half(half + 1, false));
            arguments.im = to.at_input(w.half(half + 1, true));
        }
        jobs.push_back(to.job(params, arguments));
    }
}

// A part of the sum over all partitions of one signal, into the first half of `work`: `ahead` slices of
// bins from `first` on, in turn.
struct Slices {
    const Pieces &w;
    uint64_t channel, copy, first;
    uint32_t bins;

    Place slice(Place place, uint64_t slice_bytes, uint32_t ago) const {
        return slice_in_turn(place, first, slice_bytes, w.ahead, ago);
    }
    Place past(uint32_t ago) const {
        return slice(moved(w.places.past, channel * spectra_bytes(w.p, w.p.length)), spectra_bytes(w.p, bins),
                     ago);
    }
    Place spectrum(uint32_t ago) const {
        const uint64_t signal = channel * w.s.copies + copy;
        return slice(moved(w.places.spectrum, signal * spectra_bytes(w.p, w.p.length)),
                     spectra_bytes(w.p, bins), ago);
    }
    Place sum(bool imaginary, uint32_t ago) const {
        return slice(w.half(0, imaginary), bins * sizeof(float), ago);
    }
    // Sums for the rounds that come so much later, written now or `ago`.
    Place kept(uint32_t later, bool imaginary, uint32_t ago) const {
        const uint64_t signal = channel * w.s.lane_copies() + copy,
                       row = (signal * (w.ahead - 1) + later - 1) * 2 + imaginary;
        return slice(moved(w.kept, row * point_bytes(w.p)), bins * sizeof(float), ago);
    }
    double cost(double partitions) const { return partitions * w.partition_cost * bins / w.p.length; }

    Step product() const {
        return w.step<contract::LongConvLanesProduct>({.bins = bins, .partitions = w.p.count},
                                                      {.past = past(0),
                                                       .spectrum = spectrum(0),
                                                       .slot = newest_slot(w.p),
                                                       .re_out = sum(false, 0),
                                                       .im_out = sum(true, 0)},
                                                      cost(w.p.count));
    }
    Step product_ahead() const {
        std::vector<Given::Output> next;
        for (uint32_t later = 1; later < w.ahead; later++)
            for (const bool imaginary : {false, true}) next.emplace_back(kept(later, imaginary, 0));
        return w.step<contract::LongConvLanesProductAhead>(
            {.bins = bins, .partitions = w.p.count, .blocks = w.ahead},
            {.past = past(0),
             .spectrum = spectrum(0),
             .slot = newest_slot(w.p),
             .re_out = sum(false, 0),
             .im_out = sum(true, 0),
             .next = std::move(next)},
            cost(products_ahead_share(w.ahead, true) * w.ahead * w.p.count));
    }
    Step product_rest(uint32_t ago) const {
        return w.step<contract::LongConvLanesProductRest>(
            {.bins = bins, .partitions = w.p.count, .terms = ago},
            {.past = past(ago),
             .re = kept(ago, false, ago),
             .im = kept(ago, true, ago),
             .spectrum = spectrum(ago),
             .slot = newest_slot(w.p),
             .re_out = sum(false, ago),
             .im_out = sum(true, ago)},
            cost(ago + 1));
    }
};

void add_products(const Pieces &w, uint32_t channel, uint32_t copy, std::vector<Job> &jobs) {
    uint32_t slices = w.ahead;
    while (w.p.length % (2 * slices * schedules::lanes) == 0 && w.product() > slices / w.ahead * w.most)
        slices *= 2;
    for (uint32_t first = 0; first < slices; first += w.ahead)
        jobs.push_back(sums_in_turn(Slices{w, channel, copy, first, w.p.length / slices}, w.ahead));
}

// Back, to the rows that wait for the next large block and their tail.
void add_inverse(const Pieces &w, uint32_t channel, uint32_t copy, const Place &rows,
                 std::vector<Job> &jobs) {
    const uint64_t signal = uint64_t{channel} * w.s.lane_copies() + copy;
    std::vector<TransformPiece> pieces = transform_pieces(w);
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const TransformPiece &a, const TransformPiece &b) { return a.first > b.first; });
    uint32_t half = 0, before = pieces[0].first;
    for (const TransformPiece &piece : pieces) {
        if (piece.first != before) half++;
        before = piece.first;
        const TransformStep from{w, piece};
        contract::LongConvLanesInverse params{.length = w.p.length, .first = piece.first, .last = piece.last};
        contract::LongConvLanesInverse::Arguments<Given> arguments{.re = from.at_bin(w.half(half, false)),
                                                                   .im = from.at_bin(w.half(half, true)),
                                                                   .twiddles = from.twiddles()};
        if (piece.first == 0) {
            if (piece.slice == 0) params.rows = w.p.rows_param();
            arguments.tail = from.at_input(moved(w.places.tail, signal * row_bytes(w.p)));
            arguments.y = from.at_input(moved(rows, signal * 2 * row_bytes(w.p)));
            arguments.tail_out = from.at_input(moved(w.places.tail_out, signal * row_bytes(w.p)));
        } else {
            arguments.re_out = from.at_input(w.half(half + 1, false));
            arguments.im_out = from.at_input(w.half(half + 1, true));
        }
        jobs.push_back(from.job(params, arguments));
    }
}

// By length: one level of a transform, one way.
Expected<Row> measure_level(const Meter &meter, uint32_t length) {
    const auto levels = static_cast<int64_t>(schedules::right_angle_radices(length).size());
    Meter::Params params{{"length", length}, {"first", 0}, {"last", levels}};
    LW_ASSIGN(const double back, meter.call("long_conv_lanes_inverse", params));
    params.insert_or_assign("partitions", 1);
    LW_ASSIGN(const double there, meter.call("long_conv_lanes_forward", params));
    return Row{double(length), costs::rounded((there + back) / static_cast<double>(2 * levels) / length)};
}

// As partition_table (partitioned.cc), with lanes over positions.
Expected<Row> measure_partition(const Meter &meter, uint32_t count) {
    constexpr uint32_t bins = 1024;
    LW_ASSIGN(const double all,
              meter.call("long_conv_lanes_product", {{"bins", bins}, {"partitions", count}}));
    return Row{2.0 * 2 * bins * 4 * count, costs::rounded(all / bins / count)};
}

} // namespace

const CostTable lanes_level_table{
    .key = "lanes_level", .columns = 2, .points = {16, 64, 256, 1024, 4096, 16384}, .measure = measure_level};
const CostTable lanes_partition_table{.key = "lanes_partition",
                                      .columns = 2,
                                      .points = {1, 4, 16, 64, 256, 1024, 4096},
                                      .measure = measure_partition};

LanePlaces lane_places(KernelCall &call, const Shape &s, const Partitions &p, const std::string &prefix) {
    LanePlaces places;
    places.past = call.memory(prefix + "spectra", Elem::f32,
                              {s.channels, p.length / schedules::lanes, p.count, 2, schedules::lanes});
    places.newest = places.past;
    places.newest.slots = p.count;
    places.newest.slot_bytes = group_bytes;
    // Each slot begins on a cache line.
    const uint32_t rows = s.channels * s.lane_copies() * p.rows, slot = (rows + 15) / 16 * 16;
    places.tail = call.memory(prefix + "tail", Elem::f32, {2, slot});
    places.tail.slots = 2;
    places.tail.slot_bytes = uint64_t{slot} * sizeof(float);
    places.tail_out = places.tail;
    places.tail_out.slot_add = 1;
    places.spectrum = spectrum_of(call, s, p);
    const std::vector<float> table = schedules::lane_twiddles(p.length);
    places.twiddles = call.stored("lane twiddles", Packed::f32({static_cast<uint32_t>(table.size())}, table));
    return places;
}

void call_lanes(KernelCall &call, const Shape &s, const Partitions &p, const std::vector<LargeRows> &large) {
    call.one_call();
    contract::LongConvLanes params{
        .block = p.rows, .partitions = p.count, .copies = s.lane_copies(), .channels = s.channels};
    if (p.length > p.rows) params.length = p.length;
    const LanePlaces places = lane_places(call, s, p, "");
    Given::Inputs added;
    for (const LargeRows &level : large) {
        params.added.values.push_back(2 * int64_t{level.rows});
        Place ready = level.all; // block by block through the half that is not being written
        ready.slots = 2 * level.rows / p.rows;
        ready.slot_bytes = row_bytes(p);
        ready.slot_add = level.rows / p.rows;
        added.emplace_back(ready);
    }
    call.kernel(params, {.u = call.all_rows_of(0),
                         .past = places.past,
                         .tail = places.tail,
                         .added = added,
                         .spectrum = places.spectrum,
                         .twiddles = places.twiddles,
                         .slot = newest_slot(p),
                         .y = call.result_rows(),
                         .newest = places.newest,
                         .tail_out = places.tail_out});
    call.replay(p.count); // the tail of the last block is a product with the spectra of `count` blocks
    const double element =
        transform_cost(call.context, p.length) + p.count * product_cost(call.context, s.taps);
    call.cost(element * p.length * s.channels * s.lane_copies());
}

std::vector<Job> lane_jobs(KernelCall &call, const Shape &s, const Partitions &p, uint32_t ahead,
                           uint32_t blocks, const Place &u, const LargeRows &rows,
                           const std::string &prefix) {
    Pieces w{.call = call,
             .s = s,
             .p = p,
             .places = lane_places(call, s, p, prefix),
             .work = call.memory(prefix + "work", Elem::f32, {2, 2, p.length}),
             .ahead = ahead,
             .kept = {},
             .levels = static_cast<uint32_t>(schedules::right_angle_radices(p.length).size()),
             .level_cost = call.context.costs->at(lanes_level_table, p.length) * p.length,
             .partition_cost = product_cost(call.context, s.taps) * p.length,
             .most = 0};
    const uint32_t signals = s.channels * s.lane_copies();
    w.most = (signals * w.product() + (s.channels + signals) * w.levels * w.level_cost) / (1.5 * blocks);
    if (ahead > 1) w.kept = call.memory(prefix + "ahead", Elem::f32, {signals, ahead - 1, 2, p.length});
    Place half = rows.all;
    half.slots = 2;
    half.slot_bytes = row_bytes(p);
    std::vector<Job> jobs;
    for (uint32_t channel = 0; channel < s.channels; channel++) {
        add_forward(w, channel, u, jobs);
        for (uint32_t copy = 0; copy < s.lane_copies(); copy++) {
            add_products(w, channel, copy, jobs);
            add_inverse(w, channel, copy, half, jobs);
        }
    }
    return jobs;
}

} // namespace longwave::compiler::convolution
