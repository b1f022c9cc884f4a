#include "schedules/linear/linear_product.h"
#include "schedules/halide/internals.h"

namespace longwave::schedules {

using namespace Halide;

void declare_matrix(KernelBuilder &k, Product &p, int outputs, const contract::Names::Weight &w,
                    const contract::Names::Weight &scale) {
    const int of_panel = static_cast<int>(p.panels.width());
    const bool narrow = p.panels.format != WeightFormat::float32;
    const Shape shape = {{p.panels.width(), 1},
                         {p.panels.words(), of_panel},
                         {p.panels.count() * p.panels.halves, static_cast<int32_t>(p.panels.stride())}};
    const bool grouped = p.panels.format == WeightFormat::int4;
    p.w = p.integer() ? k.weight_bytes(w, shape) : k.weight(w, shape, narrow ? Int(32) : Float(32));
    // Vectors of a panel are loaded in pairs when each panel has an address of its own.
    if (k.target.paired_loads && !narrow)
        p.apart = clamp(stride_of_caller(p.w, 2), 0, static_cast<int>(p.panels.stride()));
    if (p.panels.format == WeightFormat::int8)
        p.scale = k.weight(scale, dense({static_cast<int>(p.panels.halves * pad(extent(outputs)))}));
    if (grouped)
        p.scale = k.weight(scale, dense({static_cast<int>(lanes), static_cast<int>(p.panels.groups()),
                                         static_cast<int>(p.panels.count() * p.panels.halves)}));
}

Product declare_product(KernelBuilder &k, const contract::Linear &params) {
    Product p{};
    const auto &a = p.a;
    p.in = params.in, p.out = params.out;
    p.of_stream = params.rows;
    p.rows = p.of_stream * params.streams;
    p.has_bias = params.bias;
    p.halves = params.glu ? 2 : 1;
    p.blocks = params.blocks;
    p.first = params.first;
    k.params.require(p.blocks <= p.out, "'blocks' must be at most 'out'");
    k.params.require(p.blocks == 1 || p.out % (p.blocks * static_cast<int>(lanes)) == 0,
                     "'out' must be whole panels of 16 for each of the 'blocks'");
    const int inputs = p.first + p.blocks * p.in;
    p.in_row = params.in_row.or_else(inputs);
    k.params.require(p.in_row >= inputs, "'in_row' must hold the inputs");
    p.panels = {static_cast<uint32_t>(p.in), static_cast<uint32_t>(p.out), static_cast<uint32_t>(p.halves),
                *find_weight_format(params.weights.value)};
    p.x = k.input(a.x, {{static_cast<uint32_t>(inputs), 1}, {static_cast<uint32_t>(p.rows), p.in_row}});
    const int advice = params.advice;
    p.wanted = params.wanted;
    k.params.require(advice ? p.wanted >= 0 && p.wanted < advice : p.wanted < 0,
                     "'wanted' must be one of the clusters of 'advice'");
    if (advice) {
        k.params.require(p.rows == 1 && p.out > 1 && p.blocks == 1,
                         "'advice' is for one row of several outputs of a whole matrix");
        p.advice = k.input(a.advice, dense({static_cast<int>(pad(extent(advice))), 1}));
    }
    p.digits = params.activations.is<"int16">() ? 2 : params.activations.is<"int8">() ? 1 : 0;
    const bool int4 = p.panels.format == WeightFormat::int4, int8 = p.panels.format == WeightFormat::int8;
    k.params.require(
        !p.integer() || ((int8 || int4) && p.out > 1 && p.blocks == 1),
        "'activations' of integers are for int8 or int4 weights of several outputs, without 'blocks'");
    k.params.require(p.integer() || !int4, "weights of int4 are for 'activations' of int16 or int8");
    declare_matrix(k, p, p.out, a.w, a.scale);
    if (p.integer()) p.most_steps = k.weight(a.steps, dense({1}));
    if (p.has_bias) p.bias = k.weight(a.bias, dense({p.halves * p.width()}));
    return p;
}

} // namespace longwave::schedules
