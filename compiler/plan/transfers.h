// What crosses between CPU and device in a mixed run: a move of every buffer that one side needs and the other
// has, between the pieces of the plan.
#pragma once
#include "compiler/plan/entry_plan.h"
#include <set>
#include <vector>

namespace longwave::compiler {

// Steps [first, last) that one side runs one after the other.
struct Piece {
    size_t first = 0, last = 0;
    bool cpu = false;
};
std::vector<Piece> pieces_of(const std::vector<Step> &steps);

// Buffers of the entry's own arena that steps touch, and of these what they write.
struct Touched {
    std::vector<BufferId> all;
    std::set<BufferId> written;
    void add(const Step &step);
};

// Adds the moves to a run planned for a GPU; nothing where no step is the CPU's. Inputs and outputs lie in the
// processor's arena. A buffer is moved whole, once for each time that it was written, and only where it is read: a step
// whose outputs are not known (Step::writes) is taken to write all that it touches.
void add_moves(EntryPlan &plan);

} // namespace longwave::compiler
