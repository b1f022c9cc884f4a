// The work of one large block with lanes over channels: tile by tile, each in pieces where there are few
// tiles.
#include "compiler/planner/convolution/kernels.h"
#include "schedules/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

// What the jobs of all tiles share. Costs are of one tile.
struct TileWork {
    const KernelCall &call;
    const Shape &s;
    const Partitions &p;
    PartitionedPlaces places;
    Place u, rows;
    double transforms, product;

    // The place in that tile, without the others.
    Place in_tile(Place place, uint32_t tile) const {
        place.offset += tile * place.tile_bytes;
        place.tile_bytes = 0;
        return place;
    }
    Step step(const char *kernel, const ir::Attributes &own, double cost) const {
        ir::Attributes params{{"channels", int64_t{s.channels}}, {"copies", int64_t{s.copies}}};
        params.insert(own.begin(), own.end());
        Step step{.name = call.node.layer + " " + kernel + " large", .layer = call.node.layer};
        step.spec = ir::kernel_spec(kernel, params);
        step.cost = cost;
        return step;
    }
};

Job whole(const TileWork &w, uint32_t tile) {
    Step step =
        w.step("long_conv_partitioned", {{"block", int64_t{w.p.length}}, {"partitions", int64_t{w.p.count}}},
               w.transforms + w.product);
    step.args = {w.in_tile(w.u, tile),
                 w.in_tile(w.places.past, tile),
                 w.in_tile(w.places.tail, tile),
                 w.in_tile(w.places.spectrum, tile),
                 w.places.twiddles,
                 newest_slot(w.p),
                 w.in_tile(w.places.newest, tile),
                 w.in_tile(w.rows, tile),
                 w.in_tile(w.places.tail_out, tile)};
    return {std::move(step), false};
}

// Shares of the transforms' time: half of the levels forward, the others, and back. Measured; data come from
// L2 when a piece begins.
constexpr double first_half = 0.19, second_half = 0.25, back = 0.33, last_half = 0.23;

// `work` [2, copies, length, 2, T]: what lies between the pieces of the tile that is being computed.
void add_pieces(const TileWork &w, uint32_t tile, const Place &work, std::vector<Job> &jobs) {
    const int64_t levels = static_cast<int64_t>(schedules::right_angle_radices(w.p.length).size()),
                  middle = (levels + 1) / 2, length = w.p.length, partitions = w.p.count;
    const uint64_t positions = w.p.length, position = uint64_t{2} * w.s.tile * sizeof(float);
    const Place a = work, b = moved(work, w.s.copies * positions * position);

    Step first = w.step("long_conv_forward", {{"length", length}, {"first", int64_t{0}}, {"last", middle}},
                        first_half * w.transforms);
    first.args = {w.in_tile(w.u, tile), w.places.twiddles, a};
    Step second =
        w.step("long_conv_forward",
               {{"length", length}, {"first", middle}, {"last", levels}, {"partitions", partitions}},
               second_half * w.transforms);
    second.args = {a, w.places.twiddles, w.in_tile(w.places.newest, tile)};
    jobs.push_back({std::move(first)});
    jobs.push_back({std::move(second)});

    uint32_t slices = 1; // no longer than the other pieces
    while (positions % (uint64_t{8} * slices) == 0 && w.product > slices * first_half * w.transforms)
        slices *= 2;
    const uint64_t slice_positions = positions / slices;
    for (uint64_t slice = 0; slice < slices; slice++) {
        const uint64_t at = slice * slice_positions * position;
        Step product = w.step("long_conv_product",
                              {{"length", length},
                               {"positions", static_cast<int64_t>(slice_positions)},
                               {"partitions", partitions}},
                              w.product / slices);
        product.args = {moved(w.in_tile(w.places.past, tile), at * w.p.count),
                        moved(w.in_tile(w.places.spectrum, tile), at * w.p.count), newest_slot(w.p),
                        moved(a, at)};
        jobs.push_back({std::move(product), false});
    }

    Step inverse = w.step("long_conv_inverse", {{"length", length}, {"first", middle}, {"last", levels}},
                          back * w.transforms);
    inverse.args = {a, w.places.twiddles, b};
    Step out = w.step("long_conv_inverse", {{"length", length}, {"first", int64_t{0}}, {"last", middle}},
                      last_half * w.transforms);
    out.args = {b, w.in_tile(w.places.tail, tile), w.places.twiddles, w.in_tile(w.rows, tile),
                w.in_tile(w.places.tail_out, tile)};
    jobs.push_back({std::move(inverse)});
    jobs.push_back({std::move(out)});
}

} // namespace

std::vector<Job> tile_jobs(KernelCall &call, const Shape &s, const Partitions &p, const Place &u,
                           const Place &rows, uint32_t blocks) {
    const double elements = double(p.length) * s.tile * s.copies;
    const TileWork w{call,
                     s,
                     p,
                     partitioned_places(call, s, p, "large "),
                     u,
                     rows,
                     transform_cost(call.situation, p.length) * elements,
                     p.count * product_cost(call.situation, s.taps) * elements};
    const bool pieces = s.tiles() < 4 * blocks && schedules::right_angle_radices(p.length).size() > 1;
    const Place work =
        pieces ? call.memory("large work", Elem::f32, {2, s.copies, p.length, 2, s.tile}) : Place{};
    std::vector<Job> jobs;
    for (uint32_t tile = 0; tile < s.tiles(); tile++)
        if (pieces) add_pieces(w, tile, work, jobs);
        else jobs.push_back(whole(w, tile));
    return jobs;
}

} // namespace longwave::compiler::convolution
