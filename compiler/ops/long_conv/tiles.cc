// The work of one large block for kernels that vectorize over channels: tile by tile. If there are
// few tiles, the work of a tile is cut into pieces.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

// Shared by the jobs of all tiles. Costs are per tile.
struct TileWork {
    const KernelCall &call;
    const Shape &s;
    const Partitions &p;
    PartitionedPlaces places;
    Place u, rows;
    double transforms, product;
    uint32_t ahead; // rounds whose products are computed together
    Place kept;     // [tiles, ahead − 1, copies, length, 2, T]: until then

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
    ir::Attributes params{{"block", int64_t{w.p.rows}}, {"partitions", int64_t{w.p.count}}};
    if (w.p.length > w.p.rows) params["length"] = int64_t{w.p.length};
    Step step = w.step("long_conv_partitioned", params, w.transforms + w.product);
    step.args = {w.in_tile(w.u, tile),
                 w.in_tile(w.places.past, tile),
                 w.in_tile(w.places.tail, tile),
                 w.in_tile(w.places.spectrum, tile),
                 w.places.twiddles,
                 newest_slot(w.p),
                 w.in_tile(w.places.newest, tile),
                 w.in_tile(w.rows, tile),
                 w.in_tile(w.places.tail_out, tile)};
    return {{std::move(step)}, false};
}

// Shares of the time of the transforms: the first half of the levels forward, the second half, and
// both halves of the inverse. Measured, with data in L2 when a piece begins.
constexpr double first_half = 0.19, second_half = 0.25, back = 0.33, last_half = 0.23;

// A part of the product of spectra into `z` [copies, length, 2, T]: `ahead` slices of positions
// from `first` on. In each round another slice is computed ahead. Input that comes later is added
// to the other slices, so places move from slice to slice, round by round.
struct Slices {
    const TileWork &w;
    const uint32_t tile;
    const Place &z;
    const uint64_t first, positions;

    uint64_t position() const { return uint64_t{2} * w.s.tile * sizeof(float); }
    // Of the slice that was computed ahead so many rounds ago.
    Place slice(Place place, uint64_t position_bytes, uint32_t ago) const {
        place.offset += first * positions * position_bytes;
        place.slots = w.ahead;
        place.slot_bytes = positions * position_bytes;
        place.slot_add = w.ahead - ago;
        return place;
    }
    Step step(const char *kernel, uint32_t ago, ir::Attributes params, double partitions) const {
        params.insert({{"length", int64_t{w.p.length}},
                       {"positions", static_cast<int64_t>(positions)},
                       {"partitions", int64_t{w.p.count}}});
        Step step = w.step(kernel, params, partitions * w.product / w.p.count * positions / w.p.length);
        step.args = {slice(w.in_tile(w.places.past, tile), position() * w.p.count, ago),
                     slice(w.in_tile(w.places.spectrum, tile), position() * w.p.count, ago), newest_slot(w.p),
                     slice(z, position(), ago)};
        return step;
    }
    // Sums [ahead − 1, copies, length, 2, T] for the rounds that come so much later, written now or
    // `ago`.
    Place kept(uint32_t later, uint32_t ago) const {
        const uint64_t plane = uint64_t{w.s.copies} * w.p.length * position();
        return slice(moved(w.in_tile(w.kept, tile), (later - 1) * plane), position(), ago);
    }
    Job job() const {
        if (w.ahead == 1) return {{step("long_conv_product", 0, {}, w.p.count)}, false};
        Job job{.steps = {}, .alone = false};
        for (uint32_t ago = 1; ago < w.ahead; ago++) {
            job.steps.push_back(step("long_conv_product_rest", ago, {{"terms", int64_t{ago}}}, ago + 1));
            job.steps.back().args.insert(job.steps.back().args.begin(), kept(ago, ago));
        }
        job.steps.push_back(step("long_conv_product_ahead", 0, {{"blocks", int64_t{w.ahead}}},
                                 products_ahead_share(w.ahead) * w.ahead * w.p.count));
        for (uint32_t later = 1; later < w.ahead; later++) job.steps.back().args.emplace_back(kept(later, 0));
        return job;
    }
};

void add_products(const TileWork &w, uint32_t tile, const Place &z, std::vector<Job> &jobs) {
    uint64_t slices = w.ahead; // none longer than the other pieces
    while (w.p.length % (8 * slices) == 0 && w.product > slices * first_half * w.transforms) slices *= 2;
    for (uint64_t first = 0; first < slices; first += w.ahead)
        jobs.push_back(Slices{w, tile, z, first, w.p.length / slices}.job());
}

// `work` [2, copies, length, 2, T]: what lies between the pieces of the tile that is being
// computed.
void add_pieces(const TileWork &w, uint32_t tile, const Place &work, std::vector<Job> &jobs) {
    const int64_t levels = static_cast<int64_t>(schedules::right_angle_radices(w.p.length).size()),
                  middle = (levels + 1) / 2, length = w.p.length, partitions = w.p.count;
    const uint64_t positions = w.p.length, position = uint64_t{2} * w.s.tile * sizeof(float);
    const Place a = work, b = moved(work, w.s.copies * positions * position);

    ir::Attributes outside = w.p.rows_param(); // of the pieces that meet the rows
    outside.insert({{"length", length}, {"first", int64_t{0}}, {"last", middle}});
    Step first = w.step("long_conv_forward", outside, first_half * w.transforms);
    first.args = {w.in_tile(w.u, tile), w.places.twiddles, a};
    Step second =
        w.step("long_conv_forward",
               {{"length", length}, {"first", middle}, {"last", levels}, {"partitions", partitions}},
               second_half * w.transforms);
    second.args = {a, w.places.twiddles, w.in_tile(w.places.newest, tile)};
    jobs.push_back({{std::move(first)}});
    jobs.push_back({{std::move(second)}});

    add_products(w, tile, a, jobs);

    Step inverse = w.step("long_conv_inverse", {{"length", length}, {"first", middle}, {"last", levels}},
                          back * w.transforms);
    inverse.args = {a, w.places.twiddles, b};
    Step out = w.step("long_conv_inverse", outside, last_half * w.transforms);
    out.args = {b, w.in_tile(w.places.tail, tile), w.places.twiddles, w.in_tile(w.rows, tile),
                w.in_tile(w.places.tail_out, tile)};
    jobs.push_back({{std::move(inverse)}});
    jobs.push_back({{std::move(out)}});
}

} // namespace

std::vector<Job> tile_jobs(KernelCall &call, const Shape &s, const Partitions &p, uint32_t ahead,
                           const LargeBlock &block) {
    const double elements = double(p.length) * s.tile * s.copies;
    TileWork w{.call = call,
               .s = s,
               .p = p,
               .places = partitioned_places(call, s, p, block.prefix),
               .u = block.u,
               .rows = block.rows,
               .transforms = transform_cost(call.context, p.length) * elements,
               .product = p.count * product_cost(call.context, s.taps) * elements,
               .ahead = ahead};
    const bool pieces =
        w.ahead > 1 || (s.tiles() < 4 * block.blocks && schedules::right_angle_radices(p.length).size() > 1);
    if (w.ahead > 1) {
        w.kept = call.memory(block.prefix + "ahead", Elem::f32,
                             {s.tiles(), w.ahead - 1, s.copies, p.length, 2, s.tile});
        w.kept.tile_bytes = bytes_of(Elem::f32, {w.ahead - 1, s.copies, p.length, 2, s.tile});
    }
    const Place work =
        pieces ? call.memory(block.prefix + "work", Elem::f32, {2, s.copies, p.length, 2, s.tile}) : Place{};
    std::vector<Job> jobs;
    for (uint32_t tile = 0; tile < s.tiles(); tile++)
        if (pieces) add_pieces(w, tile, work, jobs);
        else jobs.push_back(whole(w, tile));
    return jobs;
}

} // namespace longwave::compiler::convolution
