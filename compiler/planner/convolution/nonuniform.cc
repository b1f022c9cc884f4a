// nonuniform: streams; the first taps in partitions of a block, the others in large partitions of R blocks
// (Gardner 1995). What these give of a large block of input is needed two large blocks later, so that its
// tiles of channels have R blocks to be computed in, one after the other, and the cost of a block stays flat.
#include "compiler/planner/convolution/costs.h"
#include "compiler/planner/convolution/kernels.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

// The figures of one ratio R; taps: more than two large blocks.
Estimate with_ratio(const Situation &situation, uint32_t taps, uint32_t ratio) {
    const uint32_t large = ratio * situation.rows, partitions = 2 * ratio,
                   tail = (taps - 2 * large + large - 1) / large;
    Estimate estimate;
    estimate.cost = costs::transforms(situation.rows) + costs::transforms(large) +
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
// is added to these, and it is a product with the spectra of all large blocks.
uint32_t large_replays(const Figures &figures) { return figures.at("tail_partitions") + 2; }

Reach reach(const Situation &situation, const Figures &figures) {
    const uint32_t large = figures.at("tail_length"), small = figures.at("length");
    // The large block before the one that is coming in stays as it is while its tiles are computed; and again
    // for each replay.
    const uint32_t blocks = situation.shared ? large_replays(figures) + 2 : 2;
    return {.history = blocks * large - small, .multiple = large};
}

// In large block Q the input of large block Q − 1 is complete: its tiles of channels are computed in turn, at
// steps spread over the R blocks of Q, into rows that large block Q + 1 adds to its own. Until then they lie
// in two slots, one written and one read. Layers begin their turns one block after another, for those of few
// tiles.
Status plan(KernelCall &call) {
    const Figures &figures = call.figures();
    const Shape s(call.situation);
    call_partitioned(call, s, {.length = figures.at("length"), .count = figures.at("partitions")});
    const Partitions p{.length = figures.at("tail_length"),
                       .count = figures.at("tail_partitions"),
                       .first = 2 * figures.at("tail_length")};
    const uint32_t ratio = p.length / figures.at("length"), tiles = s.tiles();
    const PartitionedPlaces places = partitioned_places(call, s, p, "large ");
    const Place u = call.large_block(0, p.length, 1);
    Place rows = call.memory("large rows", Elem::f32, {2, p.length, s.copies, s.padded});
    rows.slots = 2;
    rows.slot_bytes = bytes_of(Elem::f32, {p.length, s.copies, s.padded});
    rows.tile_bytes = s.tile * sizeof(float);

    const std::string spec = ir::kernel_spec("long_conv_partitioned", {{"channels", int64_t{s.channels}},
                                                                       {"copies", int64_t{s.copies}},
                                                                       {"block", int64_t{p.length}},
                                                                       {"partitions", int64_t{p.count}}});
    for (uint32_t first = 0, next = 0; first < tiles; first = next) {
        const uint32_t slice = first * ratio / tiles, phase = (slice + call.situation.before) % ratio;
        for (next = first; next < tiles && next * ratio / tiles == slice;) next++;
        const auto from = [&](Place place) {
            place.offset += first * place.tile_bytes;
            return place;
        };
        Step step{
            .name = call.node.layer + " long_conv_partitioned large", .layer = call.node.layer, .spec = spec};
        step.period = ratio;
        step.phase = phase;
        step.tiles = next - first;
        step.args = {
            from(u),        from(places.past),   from(places.tail), from(places.spectrum), places.twiddles,
            newest_slot(p), from(places.newest), from(rows),        from(places.tail_out)};
        call.also(std::move(step), large_replays(figures));
    }

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
