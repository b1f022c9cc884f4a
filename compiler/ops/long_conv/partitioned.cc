// partitioned: streams, blocks of the kernel as long as the stream's block, over a ring of past spectra.
#include "compiler/ops/long_conv/kernels.h"

namespace longwave::compiler::convolution {

void call_partitioned(KernelCall &call, const Shape &shape, const Partitions &p) {
    call.kernel("long_conv_partitioned");
    const bool one_call = !call.context.device.tiles; // all tiles in one dispatch
    if (!one_call) call.channel_tiles(shape.tiles(), shape.tile * sizeof(float));
    else if (!call.context.streaming) call.ordered_tiles(p.length); // a sequence is a stream of blocks
    if (one_call && shape.tiles() > 1) call.param("tiles", int64_t{shape.tiles()});
    shape_params(call, shape);
    call.param("block", int64_t{p.length});
    call.param("partitions", int64_t{p.count});
    PartitionedPlaces places = partitioned_places(call, shape, p, "");
    if (one_call)
        for (Place *place : {&places.past, &places.newest, &places.tail, &places.tail_out, &places.spectrum})
            place->tile_bytes = 0;
    call.read_rows(0);
    call.input(places.past);
    call.input(places.tail);
    call.weight(places.spectrum);
    call.weight(places.twiddles);
    call.scalar(newest_slot(p));
    call.output(places.newest);
    call.write();
    call.output(places.tail_out);
    // The tail of the last block is a product with the spectra of `count` blocks.
    call.replay(p.count);
    const double element =
        transform_cost(call.context, p.length) + p.count * product_cost(call.context, shape.taps);
    call.cost(element * p.length * shape.padded * shape.copies);
}

namespace {

Partitions partitions_of(const Decisions &figures) {
    return {.length = figures.at("length"), .count = figures.at("partitions")};
}

Estimate estimate(const PlanContext &context) {
    Estimate estimate{.refused = no_transform(context)};
    if (!estimate.refused.empty()) return estimate;
    const uint32_t taps = context.type(1).dims[2],
                   partitions = (taps + context.rows - 1) / context.rows;
    estimate.cost = transform_cost(context, context.rows) + partitions * product_cost(context, taps);
    estimate.figures.put("taps", taps);
    estimate.figures.put("length", context.rows);
    estimate.figures.put("partitions", partitions);
    return estimate;
}

Reach reach(const PlanContext &context, const Decisions &figures) {
    return {.history = context.streaming ? figures.at("partitions") * figures.at("length") : 0};
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    if (lanes_over_positions(call.context)) call_lanes(call, shape, partitions_of(call.figures()), {});
    else call_partitioned(call, shape, partitions_of(call.figures()));
    return Status::ok();
}

} // namespace

extern const ir::Algorithm partitioned;
const ir::Algorithm partitioned{.name = "partitioned",
                                .offline = devices::no_kernels,
                                .estimate = estimate,
                                .reach = reach,
                                .plan = plan};

} // namespace longwave::compiler::convolution
