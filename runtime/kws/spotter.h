// A spotter: a stream, the decision rule on one of its outputs, and events that wait. The stream's
// memory follows in the same block.
#pragma once
#include "longwave/spotter.h"
#include "runtime/kws/decision.h"
#include "runtime/kws/gain.h"

namespace longwave::runtime {

inline constexpr uint32_t waiting_events = 16;

// What a spotter remembers besides its stream and its decision rule. It has no gaps, for it is
// saved as it is.
struct SpotterState {
    struct Event {
        Detection detection;
        uint64_t before; // ticks of the spotter before those of its stream
    } events[waiting_events];
    uint32_t head, count;
    uint64_t deaf; // a score was not finite: the stream is to be reset
    // Before the stream's last reset of this kind: ticks, and what was counted.
    uint64_t before, blocks, non_finite, non_finite_outputs, resets;
    GainState gain;
};
static_assert(sizeof(SpotterState) == 16 * 32 + 8 + 6 * 8 + 16);

} // namespace longwave::runtime

struct lw_spotter {
    const lw_model *model;
    lw_stream *stream;
    uint64_t owned_bytes; // that lw_spotter_destroy releases; 0: the caller's memory
    uint32_t output;
    uint64_t clock_num, clock_den;
    lw_sample_format format; // of pushed samples
    longwave::runtime::Gain gain;
    longwave::runtime::Decision decision;
    longwave::runtime::SpotterState state;
};

namespace longwave::runtime {

// Turns waiting rows into events while events fit; *last is what pull said last.
lw_status decide(lw_spotter &spotter, lw_status *last);
// Pushes some of n samples, *taken of them. Never across the end of a block: whether the stream must
// be reset is known before the next one begins.
lw_status push_piece(lw_spotter &spotter, const uint8_t *from, size_t n, size_t *taken);

} // namespace longwave::runtime
