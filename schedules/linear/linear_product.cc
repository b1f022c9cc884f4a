#include "schedules/linear/linear_product.h"
#include "schedules/halide/internals.h"

namespace longwave::schedules {

using namespace Halide;

WeightFormat stored_format(Params &params, bool int4) {
    std::vector<std::string> names;
    for (const WeightFormat format : weight_formats) names.push_back(name_of(format));
    if (int4) names.push_back(name_of(WeightFormat::int4));
    return *find_weight_format(params.choice_or("weights", name_of(WeightFormat::float32), names));
}

void declare_matrix(KernelBuilder &k, Product &p, int outputs) {
    const int of_panel = static_cast<int>(p.panels.width());
    const bool narrow = p.panels.format != WeightFormat::float32;
    const Shape shape = {{p.panels.width(), 1},
                         {p.panels.words(), of_panel},
                         {p.panels.count() * p.panels.halves, static_cast<int32_t>(p.panels.stride())}};
    const bool grouped = p.panels.format == WeightFormat::int4;
    p.w = p.integer() ? k.weight_bytes("w", shape) : k.weight("w", shape, narrow ? Int(32) : Float(32));
    // Vectors of a panel are loaded in pairs when each panel has an address of its own.
    if (k.target.paired_loads && !narrow)
        p.apart = clamp(stride_of_caller(p.w, 2), 0, static_cast<int>(p.panels.stride()));
    if (p.panels.format == WeightFormat::int8)
        p.scale = k.weight("scale", dense({static_cast<int>(p.panels.halves * pad(extent(outputs)))}));
    if (grouped)
        p.scale = k.weight("scale", dense({static_cast<int>(lanes), static_cast<int>(p.panels.groups()),
                                           static_cast<int>(p.panels.count() * p.panels.halves)}));
}

Product declare_product(KernelBuilder &k) {
    Product p{};
    p.in = k.params.integer("in", 1, 1 << 20), p.out = k.params.integer("out", 1, 1 << 20);
    p.of_stream = k.params.integer("rows", 1, 1 << 20);
    p.rows = p.of_stream * streams_of(k.params);
    p.has_bias = k.params.flag_or("bias", false);
    p.halves = k.params.flag_or("glu", false) ? 2 : 1;
    p.blocks = k.params.integer_or("blocks", 1, 1, p.out);
    p.first = k.params.integer_or("first", 0, 0, 1 << 24);
    k.params.require(p.blocks == 1 || p.out % (p.blocks * static_cast<int>(lanes)) == 0,
                     "'out' must be whole panels of 16 for each of the 'blocks'");
    const int inputs = p.first + p.blocks * p.in;
    p.in_row = k.params.integer_or("in_row", inputs, inputs, 1 << 24);
    p.panels = {static_cast<uint32_t>(p.in), static_cast<uint32_t>(p.out), static_cast<uint32_t>(p.halves),
                stored_format(k.params, true)};
    p.x = k.input("x", {{static_cast<uint32_t>(inputs), 1}, {static_cast<uint32_t>(p.rows), p.in_row}});
    const int advice = k.params.integer_or("advice", 0, 1, 1 << 10);
    p.wanted = advice ? k.params.integer("wanted", 0, advice - 1) : -1;
    if (advice) {
        k.params.require(p.rows == 1 && p.out > 1 && p.blocks == 1,
                         "'advice' is for one row of several outputs of a whole matrix");
        p.advice = k.input("advice", dense({static_cast<int>(pad(extent(advice))), 1}));
    }
    const std::string activations =
        k.params.choice_or("activations", "float32", {"float32", "int16", "int8"});
    p.digits = activations == "int16" ? 2 : activations == "int8" ? 1 : 0;
    const bool int4 = p.panels.format == WeightFormat::int4, int8 = p.panels.format == WeightFormat::int8;
    k.params.require(
        !p.integer() || ((int8 || int4) && p.out > 1 && p.blocks == 1),
        "'activations' of integers are for int8 or int4 weights of several outputs, without 'blocks'");
    k.params.require(p.integer() || !int4, "weights of int4 are for 'activations' of int16 or int8");
    declare_matrix(k, p, p.out);
    if (p.integer()) p.most_steps = k.weight("steps", dense({1}));
    if (p.has_bias) p.bias = k.weight("bias", dense({p.halves * p.width()}));
    return p;
}

} // namespace longwave::schedules
