// Lanes that move together: how a row that takes lanes of another one is made of pieces of 16 lanes (kernel
// take_runs).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace longwave::ir {

struct Pieces {
    std::vector<int32_t> to, from; // its first lane, and the lane of x that goes there
};

struct Runs {
    Pieces zeros, forward, backward; // in this order: later ones write over earlier ones
    size_t count() const { return zeros.to.size() + forward.to.size() + backward.to.size(); }
};

// `lanes`: of each lane of the row, the one that it takes; −1: zero. Empty: a run of other lanes than zeros
// is shorter than a piece, or there is none.
std::optional<Runs> runs_of(const std::vector<int32_t> &lanes);

} // namespace longwave::ir
