// nonuniform: streams; the first taps in partitions of a block, the others in large partitions of R blocks
// (Gardner 1995). What these give of a large block of input is needed two large blocks later, so that there
// are R blocks to compute it in, piece by piece, and the cost of a block stays flat.
#include "compiler/planner/convolution/kernels.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

// The figures of one ratio R; taps: more than two large blocks.
Estimate with_ratio(const Situation &situation, uint32_t taps, uint32_t ratio) {
    const uint32_t large = ratio * situation.rows, partitions = 2 * ratio,
                   tail = (taps - 2 * large + large - 1) / large;
    Estimate estimate;
    estimate.cost = transform_cost(situation, situation.rows) + transform_cost(situation, large) +
                    (partitions + tail) * product_cost(situation, taps);
    estimate.figures.put("taps", taps);
    estimate.figures.put("length", situation.rows);
    estimate.figures.put("partitions", partitions);
    estimate.figures.put("tail_length", large);
    estimate.figures.put("tail_partitions", tail);
    return estimate;
}

Estimate estimate(const Situation &situation) {
    const uint32_t taps = situation.type(1).dims[2];
    if (std::string refused = no_transform(situation); !refused.empty())
        return {.refused = std::move(refused)};
    Estimate best{.refused = fmt::format("{} taps are too few for blocks of {} rows", taps, situation.rows)};
    for (uint32_t ratio :
         {4, 8, 16}) { // powers of two: layers that choose differently still have a short period together
        if (taps <= 2 * uint64_t{ratio} * situation.rows) break;
        Estimate next = with_ratio(situation, taps, ratio);
        if (!best.refused.empty() || next.cost < best.cost) best = std::move(next);
    }
    return best;
}

// Firings of a large step to run again: the last two fill both slots of rows, the tail of the one before them
// is added to these, and it is a product with the spectra of all large blocks. One more, because pieces that
// come early in a large block have fired once more than those behind them.
uint32_t large_replays(const Figures &figures) { return figures.at("tail_partitions") + 3; }

Reach reach(const Situation &situation, const Figures &figures) {
    const uint32_t large = figures.at("tail_length"), small = figures.at("length");
    // The large block before the one that is coming in stays as it is while it is computed; and again for
    // each replay.
    const uint32_t blocks = situation.shared ? large_replays(figures) + 2 : 2;
    return {.history = blocks * large - small, .multiple = large};
}

// In large block Q the input of large block Q − 1 is complete: its pieces are computed in turn, at steps
// spread over the R blocks of Q, into rows that large block Q + 1 adds to its own. Until then they lie in two
// slots, one written and one read.
Status plan(KernelCall &call) {
    const Figures &figures = call.figures();
    const Shape s(call.situation);
    const Partitions small{.length = figures.at("length"), .count = figures.at("partitions")},
        large{.length = figures.at("tail_length"),
              .count = figures.at("tail_partitions"),
              .first = 2 * figures.at("tail_length")};
    const uint32_t ratio = large.length / small.length;
    if (lanes_over_positions(call.situation)) {
        const LargeRows rows{
            call.memory("large rows", Elem::f32, {s.channels, s.lane_copies(), 2, large.length}),
            large.length};
        call_lanes(call, s, small, rows);
        take_turns(call, lane_jobs(call, s, large, call.large_block(0, large.length, 1), rows), ratio,
                   large_replays(figures));
        return Status::ok();
    }
    call_partitioned(call, s, small);
    const Place u = call.large_block(0, large.length, 1);
    Place rows = call.memory("large rows", Elem::f32, {2, large.length, s.copies, s.padded});
    rows.slots = 2;
    rows.slot_bytes = bytes_of(Elem::f32, {large.length, s.copies, s.padded});
    rows.tile_bytes = s.tile * sizeof(float);
    take_turns(call, tile_jobs(call, s, large, u, rows, ratio), ratio, large_replays(figures));

    // Block by block through the slot that is not being written.
    Place ready = rows;
    ready.slots = 2 * ratio;
    ready.slot_bytes = rows.slot_bytes / ratio;
    ready.slot_add = ratio;
    call.add(ready);
    return Status::ok();
}

} // namespace

extern const ir::Algorithm nonuniform;
const ir::Algorithm nonuniform{.name = "nonuniform",
                               .where = ir::Algorithm::Where::streams,
                               .estimate = estimate,
                               .reach = reach,
                               .plan = plan};

} // namespace longwave::compiler::convolution
