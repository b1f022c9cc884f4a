#include "compiler/driver/entry_vectors.h"
#include "compiler/passes/make_streaming.h"
#include <set>

namespace longwave::compiler {

namespace {

// The vector of entry `of`, the one added last, for `entry`, which computes the same on another
// device.
Status add_again(GoldenVectors &golden, const Plans &plans, size_t of, size_t entry) {
    std::set<ir::ValueId> halves;
    uint32_t between = 0;
    for (const Buffer &buffer : plans.entries[entry].buffers) {
        between += buffer.half && buffer.value < 0;
        if (buffer.half && buffer.value >= 0) halves.insert(static_cast<ir::ValueId>(buffer.value));
    }
    const auto from = static_cast<uint16_t>(of), to = static_cast<uint16_t>(entry);
    if (between > 0 || !halves.empty())
        return golden.again_in_fp16(from, to, *plans.graphs[entry], halves, between);
    golden.again(from, to);
    return Status::ok();
}

bool same_outputs(const EntryPlan &a, const EntryPlan &b) { return a.kind == b.kind && a.block == b.block; }

} // namespace

Expected<std::vector<double>> add_vectors(GoldenVectors &golden, const Plans &plans, const ir::Graph &exact,
                                          bool rounded, bool offline) {
    std::vector<double> changes;
    std::set<size_t> done;
    for (size_t i = 0; i < plans.entries.size(); i++) {
        if (!plans.graphs[i] || !done.insert(i).second) continue;
        LW_TRY(golden.add(*plans.graphs[i], plans.entries[i], static_cast<uint16_t>(i)));
        for (size_t other = i + 1; other < plans.entries.size(); other++)
            if (same_outputs(plans.entries[i], plans.entries[other]) && done.insert(other).second)
                LW_TRY(add_again(golden, plans, i, other));
        if (!rounded || !changes.empty()) continue;
        LW_ASSIGN(const ir::Graph same, offline ? exact : make_streaming(exact));
        LW_ASSIGN(changes, golden.changes_from(same));
    }
    return changes;
}

} // namespace longwave::compiler
