// nonuniform: streams. The first taps are in partitions of one block, the later taps in larger
// partitions, level by level (Gardner 1995). The result of a level for a large block of input is
// needed two large blocks later. So its work can spread over a full large block, and every block
// costs about the same.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/pointwise.h"
#include "schedules/contract/twiddles.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

// From tap 2·length on, to where the next level begins or the taps end.
struct Level {
    uint32_t length = 0, transform = 0, partitions = 0,
             ahead = 1; // ahead: large blocks whose products are computed together

    Partitions spectra() const {
        return {.rows = length, .length = transform, .count = partitions, .first = 2 * length};
    }
    // The number of firings of a step to run again. The last two fill both slots of rows. They add
    // the tail of the firing before them, which depends on the spectra of all large blocks, some of
    // it computed ahead. One more, because pieces early in a large block have fired once more than
    // later pieces.
    uint32_t replays() const { return partitions + ahead + 2; }
};

// The decisions hold the last level, and the level before it if there are two.
std::vector<Level> levels_of(const Decisions &decisions) {
    const auto level = [&](const std::string &which) {
        return Level{decisions.at(which + "_length"), decisions.at(which + "_transform"),
                     decisions.at(which + "_partitions"), decisions.at(which + "_ahead")};
    };
    std::vector<Level> levels;
    if (decisions.at("middle_length") > 0) levels.push_back(level("middle"));
    levels.push_back(level("tail"));
    return levels;
}

// The bytes of a level's spectra, the kernel's and the signal's.
uint64_t spectra_bytes(const PlanContext &context, const Level &level) {
    const Shape s(context);
    return uint64_t{2} * sizeof(float) * level.partitions * level.transform * s.channels * (1 + s.copies);
}

// How many products may be computed together.
uint32_t most_ahead(const PlanContext &context, const Level &level) {
    if (schedules::right_angle_radices(level.transform).size() < 2) return 1;
    if (!lanes_over_positions(context)) return 8;
    // Spectra that stay in a cache are read fast enough. One channel has few pieces: each of its own is dear.
    constexpr uint64_t cached = 512 << 10;
    if (spectra_bytes(context, level) <= cached) return 1;
    const Shape s(context);
    return s.channels * s.lane_copies() == 1 ? 4 : 8;
}

Level level(const PlanContext &context, uint32_t length, uint32_t end) {
    Level level{.length = length,
                .transform = transform_length(context, length),
                .partitions = (end - 2 * length + length - 1) / length};
    const uint32_t slice = lanes_over_positions(context) ? schedules::lanes : 1; // no shorter than this
    for (const uint32_t rounds : {2, 4, 8})
        if (rounds <= most_ahead(context, level) && level.partitions > 2 * rounds &&
            level.transform % (rounds * slice) == 0)
            level.ahead = rounds;
    return level;
}

// ns per output element that a level adds to its transforms: its pieces find nothing in the caches,
// its spectra are written far apart, its rows wait in memory. Measured.
constexpr double level_cost = 3;

Estimate with_levels(const PlanContext &context, uint32_t taps, const std::vector<uint32_t> &lengths) {
    Estimate estimate;
    const uint32_t partitions = 2 * lengths[0] / context.rows;
    double products = partitions * points_of_a_row(context, context.rows);
    estimate.cost = block_transform_cost(context, context.rows);
    Level middle, tail;
    for (size_t i = 0; i < lengths.size(); i++) {
        middle = tail;
        tail = level(context, lengths[i], i + 1 < lengths.size() ? 2 * lengths[i + 1] : taps);
        products += products_ahead_share(tail.ahead, lanes_over_positions(context)) * tail.partitions *
                    points_of_a_row(context, tail.length);
        estimate.cost += block_transform_cost(context, tail.length) + level_cost;
    }
    estimate.cost += products * product_cost(context, taps);
    Decisions &decisions = estimate.decisions;
    decisions.put("taps", taps);
    decisions.put("length", context.rows);
    decisions.put("transform", transform_length(context, context.rows));
    decisions.put("partitions", partitions);
    decisions.put("middle_length", middle.length);
    decisions.put("middle_transform", middle.transform);
    decisions.put("middle_partitions", middle.partitions);
    decisions.put("middle_ahead", middle.ahead);
    decisions.put("tail_length", tail.length);
    decisions.put("tail_transform", tail.transform);
    decisions.put("tail_partitions", tail.partitions);
    decisions.put("tail_ahead", tail.ahead);
    return estimate;
}

// A rebuild goes back over all of these blocks, in each over all steps: rule V6 allows 2^26 in all. Few steps
// may go back further.
uint32_t most_blocks(const PlanContext &context) {
    const Shape s(context);
    // Counted in blocks of one row, where there are most: 14 for one channel, 83 for sixteen.
    const uint32_t steps = s.channels * s.copies <= 2 ? 14 * s.channels * s.copies : 83 * s.tiles();
    constexpr uint32_t few_steps = 128;
    return context.alike * steps <= few_steps ? 3 << 17 : 1 << 17;
}

Estimate estimate(const PlanContext &context) {
    const uint32_t taps = context.type(1).dims[2];
    if (std::string refused = no_transform(context); !refused.empty()) return {.refused = std::move(refused)};
    if (taps / context.rows > most_blocks(context))
        return {.refused = fmt::format("{} taps are too many for blocks of {} rows", taps, context.rows)};
    Estimate best{.refused = fmt::format("{} taps are too few for blocks of {} rows", taps, context.rows)};
    const auto consider = [&](const std::vector<uint32_t> &lengths) {
        if (taps <= 2 * uint64_t{lengths.back()}) return;
        Estimate next = with_levels(context, taps, lengths);
        if (!best.refused.empty() || next.cost < best.cost) best = std::move(next);
    };
    // The pieces of a few channels' work are levels of a transform: of longer ones, a piece would cost more
    // than a block.
    constexpr uint32_t most_blocks_of_lanes = 64;
    // Powers of two: layers that choose differently still have a short period together.
    for (const uint32_t ratio : {4, 8, 16, 32, 64}) {
        if (ratio > 16 && context.rows >= 2 * schedules::lanes) break; // of short blocks: fewer large blocks
        if (taps <= 2 * uint64_t{ratio} * context.rows) break;
        consider({ratio * context.rows});
        for (const uint32_t next : {4, 8})
            if (next * ratio <= most_blocks_of_lanes || !lanes_over_positions(context))
                consider({ratio * context.rows, next * ratio * context.rows});
    }
    return best;
}

Reach reach(const PlanContext &context, const Decisions &decisions) {
    Reach reach;
    for (const Level &level : levels_of(decisions)) {
        // The large block before the one that is coming in stays as it is while it is computed; and
        // again for each replay.
        const uint32_t blocks = context.streaming ? level.replays() + 2 : 2;
        reach.history = std::max(reach.history, blocks * level.length - decisions.at("length"));
    }
    return reach;
}

// The rows of the large block before the present one. Every block copies its rows into one of two
// slots. The ring of the state has blocks of all entries, and no common multiple of their large
// blocks.
Place collected(KernelCall &call, const Shape &s, const Level &level, uint32_t small,
                const std::string &prefix) {
    const uint32_t ratio = level.length / small;
    Place rows = call.memory(prefix + "input", Elem::f32, {2, level.length, s.padded});
    Place to = rows;
    to.slots = 2 * ratio;
    to.slot_bytes = bytes_of(Elem::f32, {small, s.padded});
    Step copy{.name = call.node.layer + " " + prefix + "input", .layer = call.node.layer};
    ir::set_kernel<contract::Pointwise>(copy, {.width = s.padded, .rows = small},
                                        {.x = call.rows_at(0), .y = to});
    // The first firing that runs again reads the large block before its own.
    call.also(std::move(copy), (level.replays() + 2) * ratio);
    rows.slots = 2;
    rows.slot_bytes = bytes_of(Elem::f32, {level.length, s.padded});
    rows.slot_add = 1;
    return rows;
}

// In large block Q the input of large block Q − 1 is complete: its pieces are computed in turn, at
// steps spread over the blocks of Q, into rows that large block Q + 1 adds to its own. Until then
// they lie in two slots, one written and one read.
void plan_level(KernelCall &call, const Shape &s, const Level &level, uint32_t small,
                const std::string &prefix) {
    const uint32_t ratio = level.length / small;
    Place u = collected(call, s, level, small, prefix);
    u.tile_bytes = s.tile * sizeof(float);
    Place rows = call.memory(prefix + "rows", Elem::f32, {2, level.length, s.copies, s.padded});
    rows.slots = 2;
    rows.slot_bytes = bytes_of(Elem::f32, {level.length, s.copies, s.padded});
    rows.tile_bytes = s.tile * sizeof(float);
    spread_load(call, tile_jobs(call, s, level.spectra(), level.ahead, {u, rows, ratio, prefix}), ratio,
                level.replays());

    // Block by block through the slot that is not being written.
    Place ready = rows;
    ready.slots = 2 * ratio;
    ready.slot_bytes = rows.slot_bytes / ratio;
    ready.slot_add = ratio;
    call.epilogue(schedules::epilogue_sum, ready);
}

std::string prefix_of(const std::vector<Level> &levels, size_t number) {
    return levels.size() > 1 && number == 0 ? "middle " : "large ";
}

void plan_lanes(KernelCall &call, const Shape &s, const std::vector<Level> &levels, const Partitions &small) {
    std::vector<LargeRows> rows;
    for (size_t i = 0; i < levels.size(); i++)
        rows.push_back({call.memory(prefix_of(levels, i) + "rows", Elem::f32,
                                    {s.channels, s.lane_copies(), 2, levels[i].length}),
                        levels[i].length});
    call_lanes(call, s, small, rows);
    for (size_t i = 0; i < levels.size(); i++) {
        const std::string prefix = prefix_of(levels, i);
        const Place u = collected(call, s, levels[i], small.rows, prefix);
        const uint32_t blocks = levels[i].length / small.rows;
        spread_load(call,
                    lane_jobs(call, s, levels[i].spectra(), levels[i].ahead, blocks, u, rows[i], prefix),
                    blocks, levels[i].replays());
    }
}

Status plan(KernelCall &call) {
    const Shape s(call.context);
    const std::vector<Level> levels = levels_of(call.decisions());
    const Partitions small{.rows = call.decisions().at("length"),
                           .length = call.decisions().at("transform"),
                           .count = call.decisions().at("partitions")};
    if (lanes_over_positions(call.context)) {
        plan_lanes(call, s, levels, small);
        return Status::ok();
    }
    call_partitioned(call, s, small);
    for (size_t i = 0; i < levels.size(); i++)
        plan_level(call, s, levels[i], small.rows, prefix_of(levels, i));
    return Status::ok();
}

} // namespace

extern const ir::Algorithm nonuniform;
const ir::Algorithm nonuniform{.name = "nonuniform",
                               .offline = devices::no_kernels,
                               .stream = devices::cpu_kernels,
                               .estimate = estimate,
                               .reach = reach,
                               .plan = plan};

} // namespace longwave::compiler::convolution
