// A spotter: a stream, the decision rule on one of its outputs, and events that wait. The stream's
// memory follows in the same block.
#pragma once
#include "longwave/spotter.h"
#include "runtime/kws/decision.h"
#include "runtime/listen/listener.h"

namespace longwave::runtime {

inline constexpr uint32_t waiting_events = 16;

// What a spotter remembers besides its listener and its decision rule. It has no gaps, for it is
// saved as it is.
struct SpotterState {
    struct Event {
        Detection detection;
        uint64_t before; // ticks of the spotter before those of its stream
    } events[waiting_events];
    uint32_t head, count;
};
static_assert(sizeof(SpotterState) == 16 * 32 + 8);

} // namespace longwave::runtime

struct lw_spotter {
    const lw_model *model;
    uint64_t owned_bytes; // that lw_spotter_destroy releases; 0: the caller's memory
    uint64_t clock_num, clock_den;
    longwave::runtime::Listener listener;
    longwave::runtime::Decision decision;
    longwave::runtime::SpotterState state;
};

namespace longwave::runtime {

// LW_OK, or why it takes no samples.
lw_status takes_input(const lw_spotter &spotter);
// Turns waiting rows into events while events fit.
lw_status decide_until_full(lw_spotter &spotter, bool *full);

} // namespace longwave::runtime
