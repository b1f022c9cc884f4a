// Spectra of the kernel and of past blocks.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace longwave::compiler::convolution {

namespace {

// The least possible length of at least `rows` that is a multiple of `unit`. Where it is longer than
// `rows` anyway, powers of two divide it into more slices.
uint32_t transform_of(uint32_t rows, uint32_t unit) {
    const auto possible = [&](uint32_t length) {
        return length % unit == 0 && !schedules::right_angle_radices(length).empty();
    };
    if (possible(rows)) return rows;
    if (rows >= 64) unit = std::max(unit, rows >= 1024 ? 128u : 8u);
    uint32_t length = std::max(rows, 4u);
    while (!possible(length)) length++;
    return length;
}

} // namespace

std::string no_transform(const PlanContext &context) {
    if (context.node.integer("two_sided")) return "it is one-sided, and the convolution has two sides";
    if (!context.device.longer_transforms && schedules::right_angle_radices(context.rows).empty())
        return fmt::format("a block of {} rows has no transform (products of 2, 3 and 5, at least 4)",
                           context.rows);
    return {};
}

bool lanes_over_positions(const PlanContext &context) {
    const bool has_kernels =
        context.streaming && context.device.position_vectorized && context.type(1).dims[1] < schedules::lanes;
    if (!has_kernels || context.rows % schedules::lanes == 0) return has_kernels;
    // Zeros behind the block against lanes without a channel.
    return transform_of(context.rows, schedules::lanes) < idle_lanes(context) * transform_of(context.rows, 1);
}

uint32_t transform_length(const PlanContext &context, uint32_t rows) {
    if (!context.device.longer_transforms) return rows;
    return transform_of(rows, lanes_over_positions(context) ? schedules::lanes : 1);
}

double idle_lanes(const PlanContext &context) {
    const Shape s(context);
    return s.channels == 1 ? context.costs->number(one_channel_table) : double(s.padded) / s.channels;
}

double transform_cost(const PlanContext &context, uint32_t length) {
    if (!lanes_over_positions(context))
        return idle_lanes(context) * context.costs->at(transform_table, length);
    return 2 * static_cast<double>(schedules::right_angle_radices(length).size()) *
           context.costs->at(lanes_level_table, length);
}

double points_of_a_row(const PlanContext &context, uint32_t rows) {
    return double(transform_length(context, rows)) / rows;
}

double block_transform_cost(const PlanContext &context, uint32_t rows) {
    return transform_cost(context, transform_length(context, rows)) * points_of_a_row(context, rows);
}

double product_cost(const PlanContext &context, double taps) {
    const double complex_bytes = 2 * sizeof(float);
    const double spectra = 1.0 + static_cast<double>(context.node.integer("channels"));
    const double bytes = complex_bytes * taps * context.type(1).dims[1] * spectra * context.alike;
    return lanes_over_positions(context) ? context.costs->at(lanes_partition_table, bytes)
                                         : idle_lanes(context) * context.costs->at(partition_table, bytes);
}

Place twiddles(KernelCall &call, uint32_t length, TwiddleOrder order) {
    const auto exact = schedules::right_angle_twiddles(length, order);
    return call.stored(order == TwiddleOrder::by_block ? "twiddles" : "twiddles by factor",
                       Packed::f32({static_cast<uint32_t>(exact.size())}, {exact.begin(), exact.end()}));
}

Place spectrum_of(KernelCall &call, const Shape &s, const Partitions &p, bool keep) {
    const bool lanes = lanes_over_positions(call.context);
    const std::vector<uint32_t> tile =
        lanes ? std::vector<uint32_t>{s.channels, s.copies, p.length / schedules::lanes,
                                      p.count,    2,        schedules::lanes}
              : std::vector<uint32_t>{s.copies, p.length, p.count, 2, s.tile};
    std::vector<uint32_t> dims = tile;
    dims.insert(dims.begin(), s.tiles());
    bool fresh = true;
    const std::string shorter = p.rows < p.length ? fmt::format(" of {}", p.rows) : "";
    const std::string key = fmt::format("{}.k spectrum {} x {}{} from {}{}", call.node.layer, p.count,
                                        p.length, shorter, p.first, lanes ? " by bins" : "");
    Place spectrum = keep ? call.derived(key, Elem::f32, dims, &fresh)
                          : call.memory(key, Elem::f32, dims, KernelCall::Life::open);
    spectrum.tile_bytes = bytes_of(Elem::f32, tile);
    if (!fresh) return spectrum;
    TapsForSpectra taps = lanes ? taps_for_spectra(call, s) : TapsForSpectra{taps_of(call, s, false)};
    const uint32_t row = taps.dense ? s.channels : s.padded;
    taps.place.offset += uint64_t(p.first) * s.kernels * row * sizeof(float);
    taps.place.tile_bytes = s.tile * sizeof(float);
    const auto exact = schedules::right_angle_twiddles(p.length);
    const Place table =
        call.stored("twiddles in float64", Packed::f64({static_cast<uint32_t>(exact.size())}, exact));
    Step step{.name = call.node.layer + " spectrum", .layer = call.node.layer, .tiles = s.tiles()};
    ir::contract::Spectrum params{.length = p.length,
                                  .partitions = p.count,
                                  .taps = std::min(s.taps - p.first, p.count * p.rows),
                                  .copies = s.copies,
                                  .channels = s.channels,
                                  .two_sided = s.two_sided,
                                  .lanes = lanes,
                                  .dense = taps.dense};
    if (p.rows != p.length) params.rows = p.rows;
    ir::set_kernel(step, params, {.k = taps.place, .twiddles = table, .spectrum = spectrum});
    call.prepare(std::move(step));
    return spectrum;
}

PartitionedPlaces partitioned_places(KernelCall &call, const Shape &s, const Partitions &p,
                                     const std::string &prefix) {
    PartitionedPlaces places;
    places.past = call.memory(prefix + "spectra", Elem::f32, {s.tiles(), p.length, p.count, 2, s.tile});
    places.past.tile_bytes = bytes_of(Elem::f32, {p.length, p.count, 2, s.tile});
    places.newest = places.past;
    places.newest.slots = p.count;
    places.newest.slot_bytes = bytes_of(Elem::f32, {2, s.tile});
    // Read in one slot and written in the other: block by block they change places.
    places.tail = call.memory(prefix + "tail", Elem::f32, {2, s.tiles(), p.rows, s.copies, s.tile});
    places.tail.tile_bytes = bytes_of(Elem::f32, {p.rows, s.copies, s.tile});
    places.tail.slots = 2;
    places.tail.slot_bytes = places.tail.tile_bytes * s.tiles();
    places.tail_out = places.tail;
    places.tail_out.slot_add = 1;
    places.spectrum = spectrum_of(call, s, p);
    places.twiddles = twiddles(call, p.length);
    return places;
}

} // namespace longwave::compiler::convolution
