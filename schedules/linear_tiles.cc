#include "schedules/linear_tiles.h"
#include <algorithm>
#include <limits>

namespace longwave::schedules {

namespace {

// Cycles that a register tile spends on one input, about.
double cycles(const targets::Target &target, int rows, int vectors, bool near) {
    const int sums = rows * vectors;
    const double products = (target.fused_multiply_add ? 0.5 : 1.0) * sums, loads = 0.5 * (rows + vectors);
    const double walked = near ? 0 : 4.0 * target.vector_lanes * vectors / 36; // from the second cache
    return std::max({products, loads, walked}) + 0.04 * sums / std::max(1, rows);
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

} // namespace

LinearTiles linear_tiles(const targets::Target &target, const Panels &panels, int rows) {
    const int vectors_of_panel = static_cast<int>(lanes) / std::min<int>(target.vector_lanes, lanes);
    const int halves = static_cast<int>(panels.halves), count = static_cast<int>(panels.count());
    const int sums = target.vector_registers == 32 ? 24 : target.fused_multiply_add ? 12 : 8;
    LinearTiles best;
    double least = std::numeric_limits<double>::infinity();
    for (int of_tile = 1; of_tile <= count; of_tile++) {
        const int vectors = of_tile * vectors_of_panel * halves;
        if (of_tile > 1 && vectors > sums) break;
        const bool near = int64_t{4} * panels.in * of_tile * halves * lanes <= 24 << 10;
        for (int m = 1; m <= std::min(rows, 12); m++) {
            if (m > 1 && m * vectors > sums) break;
            LinearTiles tiles;
            tiles.rows = m;
            tiles.groups = groups_of(count, of_tile);
            double cost = 0;
            for (const LinearTiles::Group &group : tiles.groups)
                cost += group.count * ceil_div(rows, m) *
                        cycles(target, m, group.panels * vectors_of_panel * halves, near && rows > m);
            cost *= 1 + 0.02 * static_cast<double>(tiles.groups.size() - 1);
            if (cost >= least) continue;
            least = cost;
            best = tiles;
        }
    }
    best.chunks = rows == 1 ? 1 : chunks_of(static_cast<int>(panels.in));
    const int64_t row_bytes = int64_t{4} * panels.in, bytes = row_bytes * lanes * count * halves;
    const int most = std::max<int>(
        best.rows, bytes <= 600 << 10 ? 12 : std::clamp<int64_t>((384 << 10) / row_bytes, 24, 192));
    best.block = rows;
    if (rows > most) {
        const int blocks = ceil_div(rows, most);
        best.block = std::min(rows, ceil_div(ceil_div(rows, blocks), best.rows) * best.rows);
    }
    best.blocks = ceil_div(rows, best.block);
    best.tiles = ceil_div(best.block, best.rows);
    best.fetch = bytes > 600 << 10 && rows > 1;
    const int of_tile = best.rows * best.groups[0].panels * vectors_of_panel * halves;
    while (of_tile * best.parts < 8 && panels.in % static_cast<uint32_t>(best.parts * 2) == 0)
        best.parts *= 2;
    return best;
}

} // namespace longwave::schedules
