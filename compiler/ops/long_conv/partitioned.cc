// partitioned: streams. The partitions of the kernel are as long as the block of the stream, over a
// ring of past spectra (uniformly partitioned). The transform may be longer than the block.
#include "compiler/ops/long_conv/kernels.h"
#include <algorithm>

namespace longwave::compiler::convolution {

contract::LongConvPartitioned partitioned_params(const Shape &shape, const Partitions &p) {
    contract::LongConvPartitioned params{
        .block = p.rows, .partitions = p.count, .copies = shape.copies, .channels = shape.channels};
    if (p.length > p.rows) params.length = p.length;
    return params;
}

void call_partitioned(KernelCall &call, const Shape &shape, const Partitions &p) {
    const bool one_call = !call.context.device.tiles; // all tiles in one dispatch
    if (!one_call) call.channel_tiles(shape.tiles(), shape.tile * sizeof(float));
    else if (!call.context.streaming) call.ordered_tiles(p.rows); // a sequence is a stream of blocks
    contract::LongConvPartitioned params = partitioned_params(shape, p);
    if (one_call) params.tiles = shape.tiles();
    PartitionedPlaces places = partitioned_places(call, shape, p, "");
    if (one_call)
        for (Place *place : {&places.past, &places.newest, &places.tail, &places.tail_out, &places.spectrum})
            place->tile_bytes = 0;
    call.kernel(params, {.u = call.rows_of(0),
                         .past = places.past,
                         .tail = places.tail,
                         .spectrum = places.spectrum,
                         .twiddles = places.twiddles,
                         .slot = newest_slot(p),
                         .newest = places.newest,
                         .y = call.result_rows(),
                         .tail_out = places.tail_out});
    // The tail of the last block is a product with the spectra of `count` blocks.
    call.replay(p.count);
    const double element =
        transform_cost(call.context, p.length) + p.count * product_cost(call.context, shape.taps);
    call.cost(element * p.length * shape.padded * shape.copies);
}

namespace {

// By the bytes of spectra that a block reads, the kernel's and the signal's: small ones stay in a
// cache.
Expected<Row> measure(const Meter &meter, uint32_t count) {
    constexpr uint32_t block = 160;
    const auto at = [&](uint32_t partitions) {
        return meter.element("long_conv_partitioned", {{"block", block}, {"partitions", partitions}}, block);
    };
    LW_ASSIGN(const double alone, at(1));
    LW_ASSIGN(const double all, at(count));
    return Row{2.0 * 2 * costs::tile_channels * block * 4 * count,
               costs::rounded(std::max((all - alone) / (count - 1), 1e-3))};
}

// How many times as long an element of one channel takes the other kernels, whose lanes are then
// idle.
Expected<Row> measure_one_channel(const Meter &meter, uint32_t) {
    const Meter::Params taps{{"taps", 1024}, {"rows", 16}, {"ring", 1056}},
        blocks{{"block", 64}, {"partitions", 64}};
    LW_ASSIGN(const double direct_one, meter.element("long_conv_direct", taps, 16, 1, 1));
    LW_ASSIGN(const double direct_all, meter.element("long_conv_direct", taps, 16, costs::row_channels));
    LW_ASSIGN(const double blocks_one, meter.element("long_conv_partitioned", blocks, 64, 1, 1));
    LW_ASSIGN(const double blocks_all, meter.element("long_conv_partitioned", blocks, 64));
    return Row{costs::rounded(std::min(direct_one / direct_all, blocks_one / blocks_all))};
}

const CostTable *const tables[] = {&partition_table, &one_channel_table, &lanes_level_table,
                                   &lanes_partition_table};

Partitions partitions_of(const Decisions &decisions) {
    return {.rows = decisions.at("length"),
            .length = decisions.at("transform"),
            .count = decisions.at("partitions")};
}

Estimate estimate(const PlanContext &context) {
    Estimate estimate{.refused = no_transform(context)};
    if (!estimate.refused.empty()) return estimate;
    const uint32_t taps = context.type(1).dims[2], partitions = (taps + context.rows - 1) / context.rows;
    estimate.cost = block_transform_cost(context, context.rows) +
                    partitions * product_cost(context, taps) * points_of_a_row(context, context.rows);
    estimate.decisions.put("taps", taps);
    estimate.decisions.put("length", context.rows);
    estimate.decisions.put("transform", transform_length(context, context.rows));
    estimate.decisions.put("partitions", partitions);
    return estimate;
}

Reach reach(const PlanContext &context, const Decisions &decisions) {
    return {.history = context.streaming ? decisions.at("partitions") * decisions.at("length") : 0};
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    if (lanes_over_positions(call.context)) call_lanes(call, shape, partitions_of(call.decisions()), {});
    else call_partitioned(call, shape, partitions_of(call.decisions()));
    return Status::ok();
}

} // namespace

const CostTable partition_table{
    .key = "partition", .columns = 2, .points = {4, 16, 64, 256, 1024, 4096, 16384}, .measure = measure};
const CostTable one_channel_table{
    .key = "one_channel", .columns = 1, .points = {1}, .measure = measure_one_channel};

extern const ir::Algorithm partitioned;
const ir::Algorithm partitioned{.name = "partitioned",
                                .offline = devices::no_kernels,
                                .estimate = estimate,
                                .reach = reach,
                                .plan = plan,
                                .costs = tables};

} // namespace longwave::compiler::convolution
