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
    template <class K>
    Step step(const K &params, const typename K::template Arguments<Given> &arguments, double cost) const {
        Step step{.name = call.node.layer + " " + K::name + " large", .layer = call.node.layer};
        ir::set_kernel(step, params, arguments);
        step.cost = cost;
        return step;
    }
};

Job whole(const TileWork &w, uint32_t tile) {
    Step step = w.step(partitioned_params(w.s, w.p),
                       {.u = w.in_tile(w.u, tile),
                        .past = w.in_tile(w.places.past, tile),
                        .tail = w.in_tile(w.places.tail, tile),
                        .spectrum = w.in_tile(w.places.spectrum, tile),
                        .twiddles = w.places.twiddles,
                        .slot = newest_slot(w.p),
                        .newest = w.in_tile(w.places.newest, tile),
                        .y = w.in_tile(w.rows, tile),
                        .tail_out = w.in_tile(w.places.tail_out, tile)},
                       w.transforms + w.product);
    return {{std::move(step)}, false};
}

// Shares of the time of the transforms: the first half of the levels forward, the second half, and
// both halves of the inverse. Measured, with data in L2 when a piece begins.
constexpr double first_half = 0.19, second_half = 0.25, back = 0.33, last_half = 0.23;

// A part of the product of spectra into `z` [copies, length, 2, T]: `ahead` slices of positions
// from `first` on, in turn.
struct Slices {
    const TileWork &w;
    const uint32_t tile;
    const Place &z;
    const uint64_t first, positions;

    uint64_t position() const { return uint64_t{2} * w.s.tile * sizeof(float); }
    Place slice(Place place, uint64_t position_bytes, uint32_t ago) const {
        return slice_in_turn(place, first, positions * position_bytes, w.ahead, ago);
    }
    Place past(uint32_t ago) const {
        return slice(w.in_tile(w.places.past, tile), position() * w.p.count, ago);
    }
    Place spectrum(uint32_t ago) const {
        return slice(w.in_tile(w.places.spectrum, tile), position() * w.p.count, ago);
    }
    double cost(double partitions) const {
        return partitions * w.product / w.p.count * positions / w.p.length;
    }
    Step product() const {
        return w.step<contract::LongConvProduct>({.length = w.p.length,
                                                  .channels = w.s.channels,
                                                  .copies = w.s.copies,
                                                  .positions = positions,
                                                  .partitions = w.p.count},
                                                 {.past = past(0),
                                                  .spectrum = spectrum(0),
                                                  .slot = newest_slot(w.p),
                                                  .z = slice(z, position(), 0)},
                                                 cost(w.p.count));
    }
    Step product_ahead() const {
        std::vector<Given::Output> next;
        for (uint32_t later = 1; later < w.ahead; later++) next.emplace_back(kept(later, 0));
        return w.step<contract::LongConvProductAhead>(
            {.length = w.p.length,
             .channels = w.s.channels,
             .copies = w.s.copies,
             .positions = positions,
             .partitions = w.p.count,
             .blocks = w.ahead},
            {.past = past(0),
             .spectrum = spectrum(0),
             .slot = newest_slot(w.p),
             .z = slice(z, position(), 0),
             .next = std::move(next)},
            cost(products_ahead_share(w.ahead, false) * w.ahead * w.p.count));
    }
    Step product_rest(uint32_t ago) const {
        return w.step<contract::LongConvProductRest>({.length = w.p.length,
                                                      .channels = w.s.channels,
                                                      .copies = w.s.copies,
                                                      .positions = positions,
                                                      .partitions = w.p.count,
                                                      .terms = ago},
                                                     {.before = kept(ago, ago),
                                                      .past = past(ago),
                                                      .spectrum = spectrum(ago),
                                                      .slot = newest_slot(w.p),
                                                      .z = slice(z, position(), ago)},
                                                     cost(ago + 1));
    }
    // Sums [ahead − 1, copies, length, 2, T] for the rounds that come so much later, written now or
    // `ago`.
    Place kept(uint32_t later, uint32_t ago) const {
        const uint64_t plane = uint64_t{w.s.copies} * w.p.length * position();
        return slice(moved(w.in_tile(w.kept, tile), (later - 1) * plane), position(), ago);
    }
};

void add_products(const TileWork &w, uint32_t tile, const Place &z, std::vector<Job> &jobs) {
    uint64_t slices = w.ahead; // none longer than the other pieces
    while (w.p.length % (8 * slices) == 0 && w.product > slices * first_half * w.transforms) slices *= 2;
    for (uint64_t first = 0; first < slices; first += w.ahead)
        jobs.push_back(sums_in_turn(Slices{w, tile, z, first, w.p.length / slices}, w.ahead));
}

// `work` [2, copies, length, 2, T]: what lies between the pieces of the tile that is being
// computed.
void add_pieces(const TileWork &w, uint32_t tile, const Place &work, std::vector<Job> &jobs) {
    const auto levels = static_cast<uint32_t>(schedules::right_angle_radices(w.p.length).size()),
               middle = (levels + 1) / 2;
    const uint64_t positions = w.p.length, position = uint64_t{2} * w.s.tile * sizeof(float);
    const Place a = work, b = moved(work, w.s.copies * positions * position);

    // The pieces that meet the rows have fewer of them than points.
    jobs.push_back({{w.step<contract::LongConvForward>(
        {.length = w.p.length,
         .channels = w.s.channels,
         .copies = w.s.copies,
         .first = 0,
         .last = middle,
         .rows = w.p.rows_param()},
        {.u = w.in_tile(w.u, tile), .twiddles = w.places.twiddles, .out = a}, first_half * w.transforms)}});
    jobs.push_back({{w.step<contract::LongConvForward>(
        {.length = w.p.length,
         .channels = w.s.channels,
         .copies = w.s.copies,
         .first = middle,
         .last = levels,
         .partitions = w.p.count},
        {.x = a, .twiddles = w.places.twiddles, .out = w.in_tile(w.places.newest, tile)},
        second_half * w.transforms)}});

    add_products(w, tile, a, jobs);

    jobs.push_back({{w.step<contract::LongConvInverse>({.length = w.p.length,
                                                        .channels = w.s.channels,
                                                        .copies = w.s.copies,
                                                        .first = middle,
                                                        .last = levels},
                                                       {.z = a, .twiddles = w.places.twiddles, .out = b},
                                                       back * w.transforms)}});
    jobs.push_back({{w.step<contract::LongConvInverse>({.length = w.p.length,
                                                        .channels = w.s.channels,
                                                        .copies = w.s.copies,
                                                        .first = 0,
                                                        .last = middle,
                                                        .rows = w.p.rows_param()},
                                                       {.z = b,
                                                        .tail = w.in_tile(w.places.tail, tile),
                                                        .twiddles = w.places.twiddles,
                                                        .y = w.in_tile(w.rows, tile),
                                                        .tail_out = w.in_tile(w.places.tail_out, tile)},
                                                       last_half * w.transforms)}});
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
