// dyadic: streams of multi-scale kernels. It keeps sums over 2, 4, 8 … rows, so each weight of a
// scale costs one product, however far the scale is stretched. The cost is the same for every
// block, and any block is possible. Best for few channels and short blocks: the state is a few
// times the taps.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/dyadic_plan.h"
#include "schedules/contract/kernels/long_conv.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

using schedules::DyadicPlan;
using schedules::DyadicShape;
using schedules::DyadicTerm;

// The measurements of one call of a kernel.
struct MeasuredCall {
    double ns, steps; // per output element: the time, and the products and additions
    double bytes;     // of the sums and the weights
};

Expected<MeasuredCall> measure_call(const Meter &meter, int kernel_dim, int taps, uint32_t rows,
                                    uint32_t width) {
    int scales = 1;
    while (kernel_dim << (scales - 1) < taps) scales++;
    const int of_call = static_cast<int>(rows);
    const DyadicPlan plan =
        schedules::dyadic_plan({.kernel_dim = kernel_dim, .scales = scales, .taps = taps}, of_call);
    LW_ASSIGN(const double ns, meter.element("long_conv_dyadic",
                                             {{"kernel_dim", kernel_dim},
                                              {"scales", scales},
                                              {"taps", taps},
                                              {"rows", rows},
                                              {"period", plan.period_of(of_call)}},
                                             rows, width, width, rows));
    return MeasuredCall{ns, static_cast<double>(plan.products() + plan.additions()),
                        4.0 * width * static_cast<double>(plan.slots + plan.products())};
}

// By rows of a call: what every element pays, and what each product or addition adds.
Expected<Row> measure_rows(const Meter &meter, uint32_t rows, uint32_t width) {
    LW_ASSIGN(const MeasuredCall few, measure_call(meter, 8, 512, rows, width));
    LW_ASSIGN(const MeasuredCall many, measure_call(meter, 64, 512, rows, width));
    const double step = std::max((many.ns - few.ns) / (many.steps - few.steps), 1e-4);
    return Row{double(rows), costs::rounded(std::max(few.ns - few.steps * step, 0.01)), costs::rounded(step)};
}

// By the bytes of sums and weights that all layers walk over: what a step takes.
Expected<Row> measure_memory(const Meter &meter, uint32_t number) {
    constexpr struct {
        int taps;
        uint32_t width;
    } sizes[] = {{512, 16}, {16384, 16}, {16384, 64}, {16384, 256}, {16384, 1024}};
    LW_ASSIGN(const MeasuredCall far, measure_call(meter, 64, sizes[number].taps, 16, sizes[number].width));
    return Row{costs::rounded(far.bytes), far.ns / far.steps};
}

// 16 channels lie together. One channel alone has the lanes of a vector for its rows.
const CostTable together_table{.key = "dyadic",
                               .columns = 3,
                               .points = {1, 2, 4, 8, 16, 32, 64},
                               .measure = [](const Meter &meter, uint32_t rows) {
                                   return measure_rows(meter, rows, costs::tile_channels);
                               }};
const CostTable one_channel_alone_table{
    .key = "dyadic_one_channel",
    .columns = 3,
    .points = {1, 2, 4, 8, 16, 32, 64},
    .measure = [](const Meter &meter, uint32_t rows) { return measure_rows(meter, rows, 1); }};
// The time that memory adds to a step, without the time of a step whose numbers are in a cache.
const CostTable memory_table{.key = "dyadic_memory",
                             .columns = 2,
                             .points = {0, 1, 2, 3, 4},
                             .measure = measure_memory,
                             .finish = [](Row &row, const costs::MeasuredRows &rows) {
                                 const double near = rows.at(costs::row_name(together_table, 16)).at(2);
                                 row.at(1) = costs::rounded(std::max(row.at(1) - near, 0.0));
                             }};
const CostTable *const tables[] = {&together_table, &one_channel_alone_table, &memory_table};

// Null when the kernel is given tap by tap.
const ir::Node *scales_of(const PlanContext &context) {
    return context.graph.producer(context.node.inputs[1]);
}

DyadicShape shape_of(const PlanContext &context, const ir::Node &expand) {
    const auto &dims = context.graph.type(expand.inputs[0]).dims; // [N, C', H, d]
    const uint32_t taps = context.type(1).dims[2];
    const bool merged = expand.inputs.size() == 2;
    const uint32_t direct = merged ? context.graph.type(expand.inputs[1]).dims[2] : 1;
    return {.kernel_dim = static_cast<int>(dims[3]),
            .scales = static_cast<int>(dims[0]),
            .init_scale = static_cast<int>(expand.integer("init_scale")),
            .nearest = expand.integer("nearest") != 0,
            .taps = static_cast<int>(taps),
            .direct = static_cast<int>(std::min(direct, taps))};
}

std::string not_possible(const PlanContext &context) {
    if (context.node.integer("two_sided")) return "it is one-sided, and the convolution has two sides";
    const ir::Node *expand = scales_of(context);
    if (!expand) return "the kernel is not kept as its scales";
    if (context.type(1).dims[2] > schedules::dyadic_most_taps ||
        expand->integer("init_scale") > schedules::dyadic_most_init_scale)
        return fmt::format("more than {} taps or an init_scale above {}", schedules::dyadic_most_taps,
                           schedules::dyadic_most_init_scale);
    return {};
}

double cost_of(const PlanContext &context, const DyadicPlan &plan, int rows) {
    const Shape shape(context);
    const auto channels = static_cast<int>(shape.channels);
    const double lanes = schedules::dyadic_lanes(channels),
                 filled = lanes * schedules::dyadic_planes(channels),
                 steps = static_cast<double>(plan.products()) +
                         static_cast<double>(plan.additions()) / shape.copies,
                 numbers = static_cast<double>(plan.slots + plan.products() * shape.copies) * filled;
    const CostTable &table = lanes == 1 ? one_channel_alone_table : together_table;
    const double bytes = sizeof(float) * numbers * context.alike;
    const double cost = context.costs->at(table, rows) +
                        steps * (context.costs->at(table, rows, 2) + context.costs->at(memory_table, bytes));
    return cost * filled / channels;
}

Estimate estimate(const PlanContext &context) {
    Estimate estimate{.refused = not_possible(context)};
    if (!estimate.refused.empty()) return estimate;
    const Shape shape(context);
    const int block = static_cast<int>(context.rows), rows = schedules::dyadic_call_rows(block);
    const DyadicPlan plan = schedules::dyadic_plan(shape_of(context, *scales_of(context)), rows);
    const int64_t slots = plan.slots * schedules::dyadic_lanes(static_cast<int>(shape.channels)) *
                          schedules::dyadic_planes(static_cast<int>(shape.channels));
    if (slots > schedules::dyadic_most_floats || plan.period_of(block) > schedules::dyadic_most_period)
        return {.refused = fmt::format("its sums of {} taps would take too much memory", shape.taps)};
    estimate.cost = cost_of(context, plan, rows);
    // Its sums and weights take several times the memory of the others: of many channels a lot,
    // which a few percent are not worth.
    if (shape.channels > shape.tile) estimate.cost *= 1.25;
    estimate.decisions.put("taps", shape.taps);
    estimate.decisions.put("rows", static_cast<uint32_t>(rows));
    estimate.decisions.put("products", static_cast<uint32_t>(plan.products()));
    estimate.decisions.put("additions", static_cast<uint32_t>(plan.additions()));
    estimate.decisions.put("reach", static_cast<uint32_t>(plan.reach));
    return estimate;
}

// Firings to run again, until every sum that a result is made of is there.
uint32_t replays(const PlanContext &context, const Decisions &decisions) {
    return (decisions.at("reach") + context.rows - 1) / context.rows;
}

Reach reach(const PlanContext &context, const Decisions &decisions) {
    return {.history = context.streaming ? replays(context, decisions) * context.rows : 0};
}

// A weight for each product, [planes, copies, products, lanes].
Packed packed_products(const KernelCall &call, const Shape &shape, const DyadicPlan &plan) {
    const Scales scales(call, shape, *call.producer(1));
    const auto lanes = static_cast<uint32_t>(schedules::dyadic_lanes(static_cast<int>(shape.channels))),
               planes = static_cast<uint32_t>(schedules::dyadic_planes(static_cast<int>(shape.channels)));
    const auto products = static_cast<uint32_t>(plan.products());
    std::vector<float> packed(size_t(planes) * shape.copies * products * lanes, 0.f);
    each_kernel(shape, [&](uint32_t copy, uint32_t h, size_t of) {
        size_t at = (size_t(h / lanes) * shape.copies + copy) * products * lanes + h % lanes;
        for (const DyadicTerm &term : plan.terms)
            for (int i = term.first; i < term.first + term.count; i++, at += lanes) {
                const auto j = static_cast<uint32_t>(i);
                const double weight = term.scale < 0
                                          ? scales.direct_tap(of, j)
                                          : scales.weight(static_cast<uint32_t>(term.scale), of, j);
                packed[at] = static_cast<float>(term.factor * weight);
            }
    });
    return Packed::f32({planes, shape.copies, products, lanes}, packed);
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    const DyadicShape of = shape_of(call.context, *scales_of(call.context));
    const uint32_t block = call.all_rows(), rows = call.decisions().at("rows");
    const DyadicPlan plan = schedules::dyadic_plan(of, static_cast<int>(rows));
    const auto period = static_cast<uint32_t>(plan.period_of(static_cast<int>(block)));
    call.ordered_tiles(rows);
    const int channels = static_cast<int>(shape.channels);
    call.kernel<contract::LongConvDyadic>(
        {.channels = shape.channels,
         .copies = shape.copies,
         .rows = rows,
         .kernel_dim = of.kernel_dim,
         .scales = of.scales,
         .init_scale = of.init_scale,
         .nearest = of.nearest,
         .taps = of.taps,
         .direct = of.direct,
         .period = period},
        {.u = call.rows_of(0),
         .w = call.packed("k products", packed_products(call, shape, plan)),
         .position = Scalar{.kind = Scalar::Kind::slot,
                            .mul = static_cast<int32_t>(block),
                            .tile_mul = block > rows ? static_cast<int32_t>(rows) : 0,
                            .modulus = period / block},
         .y = call.result_rows(),
         .rings = call.memory("sums", Elem::f32,
                              {static_cast<uint32_t>(schedules::dyadic_planes(channels)),
                               static_cast<uint32_t>(plan.slots),
                               static_cast<uint32_t>(schedules::dyadic_lanes(channels))})});
    call.replay(replays(call.context, call.decisions()));
    return Status::ok();
}

} // namespace

extern const ir::Algorithm dyadic;
const ir::Algorithm dyadic{.name = "dyadic",
                           .offline = devices::no_kernels,
                           .stream = devices::cpu_kernels,
                           .estimate = estimate,
                           .reach = reach,
                           .plan = plan,
                           .costs = tables};

} // namespace longwave::compiler::convolution
