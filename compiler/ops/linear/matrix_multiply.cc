#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/linear/skip_mask.h"
#include "schedules/contract/panels.h"
#include <fmt/format.h>

namespace longwave::ir {

Expected<schedules::WeightFormat> weight_format(const Node &node) {
    if (!node.has(stored_weights.name)) return schedules::WeightFormat::float32;
    const std::string &name = node.text(stored_weights.name);
    const auto format = schedules::find_weight_format(name);
    if (!format)
        return Status::input(fmt::format("attribute {} expected {}, found {}", stored_weights.name,
                                         schedules::weight_format_names, name));
    return *format;
}

// Weights lie in the order in which kernels read them. With an absorbed gate (glu) the second half
// of the outputs are the gates.
Status product(KernelCall &call) {
    LW_ASSIGN(const schedules::WeightFormat format, weight_format(call.node));
    const Type &x = call.type(0);
    const Numbers &w = call.constant(1);
    const bool gated = call.consumer() != nullptr;
    const uint32_t in = x.width(), out = call.type(1).dims[0], half = gated ? out / 2 : out,
                   padded = schedules::pad(half);
    const bool bias = call.node.integer("bias") != 0, narrow = format != schedules::WeightFormat::float32;
    // The lanes after the last input are zero. Enough of them are read that the sums divide into equal
    // parts.
    const uint32_t read = x.dims.size() == 1 && x.row() > 1 ? (in + 7) / 8 * 8 : x.row();
    schedules::PackedPanels packed({read, half, gated ? 2u : 1u, format});
    const schedules::Panels &panels = packed.panels;
    std::vector<float> shift(size_t{padded} * panels.halves, 0.f);
    std::vector<uint32_t> lanes(in);
    for (uint32_t i = 0; i < in; ++i) lanes[i] = x.physical(i);
    for (uint32_t o = 0; o < out; ++o) {
        packed.set(o % half, o / half, w.copy(size_t{o} * in, in), lanes);
        if (bias) shift[size_t{o / half} * padded + o % half] = static_cast<float>(call.constant(2)[o]);
    }
    call.kernel("linear");
    call.param("in", panels.in);
    if (panels.in != x.row()) call.param("in_row", x.row());
    call.param("out", half);
    call.param("rows", call.rows());
    call.param("bias", bias);
    call.param("glu", gated);
    if (narrow) call.param("weights", schedules::name_of(format));
    const size_t last = call.node.inputs.size() - 1;
    const bool masked = has_skip_mask(call.node) && takes_skip_mask(call.context) && out > 1;
    if (masked) {
        call.param("advice", call.type(last).width());
        call.param("wanted", call.node.integer(skip_mask_attribute.name));
    }
    call.read_rows(0);
    if (masked) call.read_rows(last);
    call.weight("weight", Packed::of(narrow ? Elem::i32 : Elem::f32,
                                     {static_cast<uint32_t>(packed.words.size())}, packed.words));
    if (!packed.scales.empty()) call.weight("scale", packed.scales);
    if (bias) call.weight("bias", shift);
    call.write();
    return Status::ok();
}

} // namespace longwave::ir
