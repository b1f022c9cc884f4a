#include "schedules/linear/linear_tiles.h"
#include "schedules/halide/builder.h"
#include <algorithm>
#include <limits>

namespace longwave::schedules {
namespace {

// Bytes of weights that stay in the caches while rows pass by, or come from memory; and of the rows
// that pass by a group of panels.
int64_t stay_in_first(const targets::Target &target) { return target.first_cache * 3 / 4; }
int64_t stay_in_second(const targets::Target &target) { return target.second_cache * 75 / 128; }
int64_t beyond_caches(const targets::Target &target) { return target.second_cache * 3 / 2; }
int64_t block_bytes(const targets::Target &target) { return target.second_cache * 3 / 4; }

// A register tile of `rows` by `vectors`, each sum in `parts`.
struct TileShape {
    int rows, vectors, parts;
    bool near; // its weights come from the first cache
    WeightFormat format;
};

// Instructions that make a vector of float32 weights of a vector in a word.
double widening(WeightFormat format) {
    return format == WeightFormat::float32 ? 0 : format == WeightFormat::bf16 ? 1 : 2.75;
}

// From so many rows on it is cheaper to widen weights once for all of them than in every register
// tile.
bool pays_to_widen(WeightFormat format, int rows) {
    return format == WeightFormat::bf16 ? rows >= 100 : format == WeightFormat::int8 && rows >= 40;
}

// Cycles of a whole register tile, about.
double cycles(const targets::Target &target, const TileShape &s, int in) {
    const int sums = s.rows * s.vectors;
    const double of_word = weights_of_word(s.format);
    const double products =
        (target.fused_multiply_add ? 0.5 : 1.0) * sums + 0.5 * widening(s.format) * s.vectors;
    const double loads = 0.5 * (s.rows + s.vectors / of_word), latency = 6.0 / s.parts;
    const double walked = s.near ? 0 : 4.0 * target.vector_lanes * s.vectors / (36 * of_word);
    const double each = std::max({products, loads, walked, latency}) + 0.04 * s.vectors;
    return in * each + 25 + 0.5 * sums * s.parts;
}

// Sums, what is held beside them and what passes by have registers.
bool fits(const targets::Target &target, int rows, int vectors, int parts) {
    const int few =
        rows == 1 && !target.vector_offsets ? 4 : 8; // of others than these the products take registers, too
    const int sums = target.vector_registers == 32 ? 24 : target.fused_multiply_add ? 12 : few;
    const int all = rows * vectors * parts;
    return all <= sums && all + std::min(rows, vectors) + 1 < target.vector_registers;
}

// Short sums are exact sums, and their weights stay in the second cache.
// `in` granules of so many inputs.
int chunks_of(int in, int granule) {
    const int longest = 512 / granule, shortest = 128 / granule;
    for (int chunks = ceil_div(in, longest); in / chunks >= shortest; chunks++)
        if (in % chunks == 0) return chunks;
    return 1;
}

// The register tile that costs least over the whole product. `of_sum`: parts of a sum; 0: any.
LinearTiles choose(const targets::Target &target, const Panels &panels, WeightFormat format, int rows,
                   int64_t bytes, int of_sum) {
    const int vectors_of_panel = static_cast<int>(lanes) / std::min<int>(target.vector_lanes, lanes);
    const int of_panel = vectors_of_panel * static_cast<int>(panels.halves),
              count = static_cast<int>(panels.count()),
              in = static_cast<int>(panels.words() * panels.of_word());
    // Few rows wait for the memory: it delivers float32 fastest in one piece, words that take
    // longer to use in several.
    const int most_panels = bytes <= beyond_caches(target) || rows > 4 ? count
                            : format == WeightFormat::float32          ? 1
                                                                       : 4;
    LinearTiles best;
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](int of_tile, int m, int parts, int pieces) {
        const bool near = rows > m && bytes / count * of_tile <= stay_in_first(target);
        LinearTiles tiles;
        tiles.rows = m;
        tiles.parts = parts;
        tiles.slices = pieces;
        tiles.groups = groups_of(count, of_tile);
        double cost = 0;
        for (const LinearTiles::Group &group : tiles.groups)
            cost += static_cast<double>(group.count) * pieces * ceil_div(rows, m) *
                    cycles(target, {m, group.panels * of_panel / pieces, parts, near, format}, in);
        cost *= 1 + 0.02 * static_cast<double>(tiles.groups.size() - 1); // twice the code
        if (cost >= least) return;
        least = cost;
        best = tiles;
    };
    for (int of_tile = 1; of_tile <= most_panels; of_tile++)
        for (int m = 1; m <= std::min(rows, 12); m++)
            for (int parts = 1; parts <= 8 && in % parts == 0; parts *= 2)
                if ((of_sum == 0 || parts == of_sum) &&
                    (fits(target, m, of_tile * of_panel, parts) || of_tile * m * (of_sum ? 1 : parts) == 1))
                    consider(of_tile, m, parts, 1);
    for (int m = 2; of_sum <= 1 && panels.halves == 2 && vectors_of_panel == 2 && m <= std::min(rows, 12);
         m++)
        if (fits(target, m, of_panel / 2, 1)) consider(1, m, 1, 2);
    return best;
}

} // namespace

std::vector<LinearTiles::Group> groups_of(int count, int panels) {
    std::vector<LinearTiles::Group> groups;
    if (count / panels) groups.push_back({0, panels, count / panels});
    if (count % panels) groups.push_back({count - count % panels, count % panels, 1});
    return groups;
}

LinearTiles linear_tiles(const targets::Target &target, const Panels &all, int rows, int diagonal,
                         int as_of) {
    if (as_of == rows) as_of = 0;
    const LinearTiles alike = as_of ? linear_tiles(target, all, as_of, diagonal) : LinearTiles{};
    Panels panels = all;
    panels.out /= static_cast<uint32_t>(diagonal);
    const int64_t row_bytes = int64_t{4} * panels.in,
                  of_block = int64_t{4} * panels.words() * lanes * panels.count() * panels.halves,
                  bytes = of_block * diagonal;
    const bool widen = pays_to_widen(panels.format, rows), narrow = panels.format != WeightFormat::float32;
    LinearTiles tiles = choose(target, panels, widen ? WeightFormat::float32 : panels.format, rows, of_block,
                               as_of ? alike.parts : 0);
    tiles.widen = widen;
    if (!target.vector_offsets) tiles.unrolled = 2; // an address of each load is held in a register
    tiles.granule = std::max(1, static_cast<int>(panels.of_word()) / tiles.parts);
    tiles.chunks = 1;
    if (as_of) {
        tiles.chunks = alike.chunks;
    } else if (rows > 1) {
        const int granules =
            static_cast<int>(panels.words() * panels.of_word()) / (tiles.parts * tiles.granule);
        tiles.chunks = chunks_of(granules, tiles.granule);
    }
    // Weights that stay in the second cache pass by a few rows in the first; larger ones are
    // fetched once for as many rows as the second cache can hold beside them, and so are those that
    // must be widened.
    const int64_t most = bytes <= stay_in_second(target) && !widen
                             ? 12
                             : std::clamp<int64_t>(block_bytes(target) / row_bytes, 24, 192);
    tiles.block = rows;
    if (rows > most) {
        const int blocks = ceil_div(rows, static_cast<int>(most));
        tiles.block = std::min(rows, ceil_div(ceil_div(rows, blocks), tiles.rows) * tiles.rows);
    }
    tiles.blocks = ceil_div(rows, tiles.block);
    tiles.tiles = ceil_div(tiles.block, tiles.rows);
    // A walk of one row over float32 weights asks for its lines fast enough by itself; where there
    // are more instructions to a line, it does not.
    tiles.fetch =
        (rows > 1 || narrow) && bytes > (rows <= 4 ? beyond_caches(target) : stay_in_second(target));
    return tiles;
}

namespace {

struct IntegerShape {
    int rows, vectors, parts; // `vectors` of sums for each row and part
};

// Each digit has its sums.
int vectors_of_panel(const targets::Target &target, IntegerForm form, int digits) {
    const int sums = sums_of_output(form) * (multiplies_bytes(form) ? digits : 1);
    return sums * static_cast<int>(lanes) / target.vector_lanes;
}

// Beside sums, and rows or vectors of weights, of a product. Where inputs are multiplied one by
// one, the 64 bytes of a word are loaded together and then widened.
int registers_of_product(IntegerForm form) {
    switch (form) {
    case IntegerForm::ones: return 20;
    case IntegerForm::pairs: return 2;
    case IntegerForm::words:
    case IntegerForm::above: return 6;
    case IntegerForm::bytes: return 16;
    }
    return 0;
}

bool in_registers(const targets::Target &target, IntegerForm form, const IntegerShape &s) {
    const int products = registers_of_product(form);
    return s.rows * s.vectors * s.parts + std::min(s.rows, s.vectors) + products <= target.vector_registers;
}

// Instructions for one word of every output, about two of which start in a cycle: a vector of
// weights is widened, a word of a row is broadcast, and each vector of products is multiplied and
// added.
double of_word(const IntegerShape &s, int unroll) {
    constexpr double loop = 3;
    return s.vectors + s.rows + 2.0 * s.rows * s.vectors + loop / (unroll * s.parts);
}

// At the end: parts and neighbours are added, sums are scaled and stored.
double of_end(const IntegerShape &s) { return s.rows * s.vectors * (2.0 * s.parts + 4) + 12; }

} // namespace

bool has_dot_products(const targets::Target &target) {
    return Halide::Target(target.halide).has_feature(Halide::Target::ARMDotProd);
}

bool has_unsigned_dot_products(const targets::Target &target) {
    return Halide::Target(target.halide).has_feature(Halide::Target::AVX512_Zen4);
}

IntegerForm integer_form(const targets::Target &target, int digits, int words) {
    const Halide::Target machine(target.halide);
    if (has_dot_products(target)) return IntegerForm::words;
    // A sum of so many products fits an int32 whatever they are.
    if (has_unsigned_dot_products(target) && words <= std::numeric_limits<int32_t>::max() / (4 * 255 * 128))
        return IntegerForm::above;
    if (target.integer_pairs) return IntegerForm::pairs;
    // Two digits cost more than one product of int16.
    const bool neon = machine.arch == Halide::Target::ARM && !machine.has_feature(Halide::Target::NoNEON);
    return neon && digits == 1 && words % 2 == 0 ? IntegerForm::bytes : IntegerForm::ones;
}

IntegerTiles integer_tiles(const targets::Target &target, IntegerForm form, int digits, const Panels &panels,
                           int rows) {
    const int words = static_cast<int>(panels.words()) / words_together(form),
              count = static_cast<int>(panels.count()),
              of_panel = vectors_of_panel(target, form, digits) * static_cast<int>(panels.halves);
    IntegerTiles best;
    double least = std::numeric_limits<double>::infinity();
    for (int of_tile = 1; of_tile <= std::min(count, 4); of_tile++)
        for (int m = 1; m <= std::min(rows, 8); m++)
            for (int parts = 1; parts <= 4 && words % parts == 0; parts *= 2) {
                const int unroll = divisor_at_most(words / parts, std::max(1, 8 / parts));
                IntegerTiles tiles{m, ceil_div(rows, m), parts, unroll, groups_of(count, of_tile)};
                double cost = 0;
                bool held = true;
                for (const LinearTiles::Group &group : tiles.groups) {
                    const IntegerShape shape{m, group.panels * of_panel, parts};
                    held = held && (in_registers(target, form, shape) || shape.rows * parts * of_tile == 1);
                    cost += group.count * tiles.tiles * (words * of_word(shape, unroll) + of_end(shape));
                }
                cost *= 1 + 0.02 * static_cast<double>(tiles.groups.size() - 1); // twice the code
                if (!held || cost >= least) continue;
                least = cost;
                best = tiles;
            }
    return best;
}

} // namespace longwave::schedules
