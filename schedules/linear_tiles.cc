#include "schedules/linear_tiles.h"
#include <algorithm>
#include <limits>

namespace longwave::schedules {

namespace {

constexpr int64_t first_cache = 24 << 10, second_cache = 600 << 10; // bytes of weights that stay there
constexpr int64_t beyond_caches = 1536 << 10;                       // bytes of weights that come from memory
constexpr int64_t block_bytes = 768 << 10; // of the rows that pass by a group of panels

// A register tile of `rows` by `vectors`, each sum in `parts`.
struct TileShape {
    int rows, vectors, parts;
    bool near; // its weights come from the first cache
};

// Cycles of a whole register tile, about.
double cycles(const targets::Target &target, const TileShape &s, int in) {
    const int sums = s.rows * s.vectors;
    const double products = (target.fused_multiply_add ? 0.5 : 1.0) * sums;
    const double loads = 0.5 * (s.rows + s.vectors), latency = 6.0 / s.parts;
    const double walked = s.near ? 0 : 4.0 * target.vector_lanes * s.vectors / 36;
    const double each = std::max({products, loads, walked, latency}) + 0.04 * s.vectors;
    return in * each + 25 + 0.5 * sums * s.parts;
}

// Sums, what is held beside them and what passes by have registers.
bool fits(const targets::Target &target, int rows, int vectors, int parts) {
    const int sums = target.vector_registers == 32 ? 24 : target.fused_multiply_add ? 12 : 8;
    const int all = rows * vectors * parts;
    return all <= sums && all + std::min(rows, vectors) + 1 < target.vector_registers;
}

std::vector<LinearTiles::Group> groups_of(int count, int panels) {
    std::vector<LinearTiles::Group> groups;
    if (count / panels) groups.push_back({0, panels, count / panels});
    if (count % panels) groups.push_back({count - count % panels, count % panels, 1});
    return groups;
}

// Short sums are exact sums, and their weights stay in the second cache.
int chunks_of(int in) {
    const int longest = 512, shortest = 128;
    for (int chunks = ceil_div(in, longest); in / chunks >= shortest; chunks++)
        if (in % chunks == 0) return chunks;
    return 1;
}

// The register tile that costs least over the whole product.
LinearTiles choose(const targets::Target &target, const Panels &panels, int rows, int64_t bytes) {
    const int vectors_of_panel = static_cast<int>(lanes) / std::min<int>(target.vector_lanes, lanes);
    const int of_panel = vectors_of_panel * static_cast<int>(panels.halves),
              count = static_cast<int>(panels.count()), in = static_cast<int>(panels.in);
    // Few rows wait for the memory: it delivers fastest in one piece.
    const int most_panels = bytes > beyond_caches && rows <= 4 ? 1 : count;
    LinearTiles best;
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](int of_tile, int m, int parts, int slices) {
        const bool near = rows > m && bytes / count * of_tile <= first_cache;
        LinearTiles tiles;
        tiles.rows = m;
        tiles.parts = parts;
        tiles.slices = slices;
        tiles.groups = groups_of(count, of_tile);
        double cost = 0;
        for (const LinearTiles::Group &group : tiles.groups)
            cost += static_cast<double>(group.count) * slices * ceil_div(rows, m) *
                    cycles(target, {m, group.panels * of_panel / slices, parts, near}, in);
        cost *= 1 + 0.02 * static_cast<double>(tiles.groups.size() - 1); // twice the code
        if (cost >= least) return;
        least = cost;
        best = tiles;
    };
    for (int of_tile = 1; of_tile <= most_panels; of_tile++)
        for (int m = 1; m <= std::min(rows, 12); m++)
            for (int parts = 1; parts <= 8 && in % parts == 0; parts *= 2)
                if (fits(target, m, of_tile * of_panel, parts) || of_tile * m * parts == 1)
                    consider(of_tile, m, parts, 1);
    for (int m = 2; panels.halves == 2 && vectors_of_panel == 2 && m <= std::min(rows, 12); m++)
        if (fits(target, m, of_panel / 2, 1)) consider(1, m, 1, 2);
    return best;
}

} // namespace

LinearTiles linear_tiles(const targets::Target &target, const Panels &panels, int rows) {
    const int64_t row_bytes = int64_t{4} * panels.in,
                  bytes = row_bytes * lanes * panels.count() * panels.halves;
    LinearTiles tiles = choose(target, panels, rows, bytes);
    tiles.chunks = rows == 1 ? 1 : chunks_of(static_cast<int>(panels.in) / tiles.parts);
    // Weights that stay in the second cache pass by a few rows in the first; larger ones are fetched once for
    // as many rows as the second cache can hold beside them.
    const int64_t most = bytes <= second_cache ? 12 : std::clamp<int64_t>(block_bytes / row_bytes, 24, 192);
    tiles.block = rows;
    if (rows > most) {
        const int blocks = ceil_div(rows, static_cast<int>(most));
        tiles.block = std::min(rows, ceil_div(ceil_div(rows, blocks), tiles.rows) * tiles.rows);
    }
    tiles.blocks = ceil_div(rows, tiles.block);
    tiles.tiles = ceil_div(tiles.block, tiles.rows);
    tiles.fetch = rows > 1 && bytes > (rows <= 4 ? beyond_caches : second_cache);
    return tiles;
}

} // namespace longwave::schedules
