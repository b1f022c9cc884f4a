// Streams of few channels: kernels that vectorize over positions
// (schedules/long_conv/position_vectorized.cc). Their memory has no padding of channels.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/kernels/long_conv_lanes.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

uint64_t point_bytes(const Partitions &p) { return uint64_t{p.length} * sizeof(float); }
uint64_t row_bytes(const Partitions &p) { return uint64_t{p.rows} * sizeof(float); }

// Shared by the pieces of the work of one large block.
struct Pieces {
    const KernelCall &call;
    const Shape &s;
    const Partitions &p;
    LanePlaces places;
    Place work; // [2, 2, length]: pieces read one half and write the other
    uint32_t levels;
    double level_cost, partition_cost; // of all positions

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

// Level by level, so that even one channel's work has pieces for every block; several channels have
// enough of them with several levels each.
uint32_t levels_of_a_piece(const Shape &s, uint32_t levels) {
    const uint32_t signals = s.channels * s.lane_copies();
    return signals <= 2 ? 1 : signals <= 4 ? 2 : levels;
}

// Forward: from the samples to the newest spectrum of the ring.
void add_forward(const Pieces &w, uint32_t channel, const Place &u, std::vector<Job> &jobs) {
    const uint32_t each = levels_of_a_piece(w.s, w.levels);
    const Place newest = moved(w.places.newest, uint64_t{channel} * w.p.count * 2 * point_bytes(w.p));
    uint32_t half = 0;
    for (uint32_t level = 0; level < w.levels; level += each, half++) {
        const uint32_t last = std::min(level + each, w.levels);
        const bool out = last == w.levels;
        contract::LongConvLanesForward params{.length = w.p.length, .first = level, .last = last};
        contract::LongConvLanesForward::Arguments<Given> arguments{
            .twiddles = w.places.twiddles,
            .re_out = out ? newest : w.half(half, false),
            .im_out = out ? moved(newest, point_bytes(w.p)) : w.half(half, true)};
        if (level == 0) {
            params.rows = w.p.rows_param();
            params.stride = w.s.padded;
            arguments.u = moved(u, channel * sizeof(float));
        } else {
            arguments.re = w.half(half + 1, false);
            arguments.im = w.half(half + 1, true);
        }
        jobs.push_back({{w.step(params, arguments, (last - level) * w.level_cost)}});
    }
}

// Slices of bins of the sum over all partitions, into the first half of `work`.
void add_products(const Pieces &w, uint32_t channel, uint32_t copy, std::vector<Job> &jobs) {
    uint32_t slices = 1; // no longer than a level takes, as far as whole groups of bins allow
    const uint32_t least = w.p.length < 256 ? 16 : 64; // bins
    while (w.p.length % (2 * slices * least) == 0 && w.partition_cost * w.p.count > slices * w.level_cost)
        slices *= 2;
    const uint32_t bins = w.p.length / slices;
    const uint64_t ring = uint64_t{w.p.count} * 2 * point_bytes(w.p);
    const Place past = moved(w.places.past, channel * ring),
                spectrum = moved(w.places.spectrum, (uint64_t{channel} * w.s.copies + copy) * ring);
    for (uint32_t slice = 0; slice < slices; slice++) {
        const uint64_t at = uint64_t{slice} * bins * sizeof(float);
        Step step = w.step<contract::LongConvLanesProduct>(
            {.length = w.p.length, .bins = bins, .partitions = w.p.count},
            {.past = moved(past, at),
             .spectrum = moved(spectrum, at),
             .slot = newest_slot(w.p),
             .re_out = moved(w.half(0, false), at),
             .im_out = moved(w.half(0, true), at)},
            w.partition_cost * w.p.count / slices);
        jobs.push_back({{std::move(step)}, false});
    }
}

// Back, to the rows that wait for the next large block and their tail.
void add_inverse(const Pieces &w, uint32_t channel, uint32_t copy, const Place &rows,
                 std::vector<Job> &jobs) {
    const uint32_t each = levels_of_a_piece(w.s, w.levels), copies = w.s.lane_copies();
    const uint64_t signal = uint64_t{channel} * copies + copy;
    uint32_t half = 0;
    for (uint32_t last = w.levels; last > 0; half++) {
        const uint32_t first = last > each ? last - each : 0;
        contract::LongConvLanesInverse params{.length = w.p.length, .first = first, .last = last};
        contract::LongConvLanesInverse::Arguments<Given> arguments{
            .re = w.half(half, false), .im = w.half(half, true), .twiddles = w.places.twiddles};
        if (first == 0) {
            params.rows = w.p.rows_param();
            arguments.tail = moved(w.places.tail, signal * row_bytes(w.p));
            arguments.y = moved(rows, signal * 2 * row_bytes(w.p));
            arguments.tail_out = moved(w.places.tail_out, signal * row_bytes(w.p));
        } else {
            arguments.re_out = w.half(half + 1, false);
            arguments.im_out = w.half(half + 1, true);
        }
        jobs.push_back({{w.step(params, arguments, (last - first) * w.level_cost)}});
        last = first;
    }
}

// By length: one level of a transform, one way.
Expected<Row> measure_level(const Meter &meter, uint32_t length) {
    const auto levels = static_cast<int64_t>(schedules::right_angle_radices(length).size());
    const Meter::Params params{{"length", length}, {"first", 0}, {"last", levels}};
    LW_ASSIGN(const double there, meter.call("long_conv_lanes_forward", params));
    LW_ASSIGN(const double back, meter.call("long_conv_lanes_inverse", params));
    return Row{double(length), costs::rounded((there + back) / static_cast<double>(2 * levels) / length)};
}

// As partition_table (partitioned.cc), with lanes over positions.
Expected<Row> measure_partition(const Meter &meter, uint32_t count) {
    constexpr uint32_t bins = 1024;
    LW_ASSIGN(const double all, meter.call("long_conv_lanes_product",
                                           {{"length", bins}, {"bins", bins}, {"partitions", count}}));
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
    places.past = call.memory(prefix + "spectra", Elem::f32, {s.channels, p.count, 2, p.length});
    places.newest = places.past;
    places.newest.slots = p.count;
    places.newest.slot_bytes = 2 * point_bytes(p);
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

std::vector<Job> lane_jobs(KernelCall &call, const Shape &s, const Partitions &p, const Place &u,
                           const LargeRows &rows, const std::string &prefix) {
    Pieces w{call,
             s,
             p,
             lane_places(call, s, p, prefix),
             call.memory(prefix + "work", Elem::f32, {2, 2, p.length}),
             static_cast<uint32_t>(schedules::right_angle_radices(p.length).size()),
             call.context.costs->at(lanes_level_table, p.length) * p.length,
             product_cost(call.context, s.taps) * p.length};
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
