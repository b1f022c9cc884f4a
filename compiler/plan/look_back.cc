#include "compiler/plan/look_back.h"
#include "compiler/ir/op.h"
#include <algorithm>

namespace longwave::compiler {

namespace {

// Rows of the first input in input ticks, rounded up.
uint32_t ticks_of(uint32_t rows, const ir::Clock &clock) {
    const uint64_t ticks = (uint64_t{rows} * clock.den + clock.num - 1) / clock.num;
    return static_cast<uint32_t>(std::min<uint64_t>(ticks, UINT32_MAX));
}

} // namespace

LookBack look_back(const ir::Graph &graph) {
    LookBack found;
    for (const ir::Node &node : graph.nodes) {
        std::vector<ir::Type> types;
        for (const ir::ValueId id : node.inputs) types.push_back(graph.type(id));
        if (types.empty() || types[0].clock.timeless()) continue;
        const ir::StreamRule rule = node.op->stream(node, types);
        uint32_t rows = rule.history;
        if (!rule.looks_ahead.empty()) {
            found.ahead = true;
            if (node.op->reach) rows = node.op->reach(node, types);
            else found.whole = true;
        }
        found.recurrent = found.recurrent || !rule.carries.empty();
        const uint32_t ticks = ticks_of(rows, types[0].clock);
        if (ticks <= found.ticks) continue;
        found.ticks = ticks;
        found.layer = node.layer;
    }
    return found;
}

} // namespace longwave::compiler
