// How many vectors of channels, at how many places, a kernel sums in registers at once.
#pragma once
#include <algorithm>

namespace longwave::schedules {

struct RegisterTile {
    int vectors, across;
};

// For each product a tile reads its vectors of weights and one number per place, and a sum waits for
// the one before it. The tile with the fewest cycles per product of all results, with two units that
// multiply and two that load.
inline RegisterTile register_tile(int vectors, int places, int registers) {
    constexpr int latency = 4;
    const int sums = registers == 32 ? 16 : 8;
    const auto tiles = [](int n, int of) { return (n + of - 1) / of; };
    RegisterTile best{1, 1};
    int fewest = 0, fewest_loads = 0;
    for (int v = 1; v <= std::min(vectors, sums); v++)
        for (int a = 1; a <= std::min(places, sums / v); a++) {
            const int count = tiles(vectors, v) * tiles(places, a), loads = v + a;
            const int cycles = count * std::max({2 * latency, v * a, loads});
            if (fewest && (cycles > fewest || (cycles == fewest && count * loads >= fewest_loads))) continue;
            best = {v, a};
            fewest = cycles, fewest_loads = count * loads;
        }
    return best;
}

} // namespace longwave::schedules
