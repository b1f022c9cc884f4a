#include "compiler/ops/product.h"
#include "schedules/panels.h"

namespace longwave::ir {

// Weights in the order in which kernels walk over them. With a gate behind it the second half of the outputs
// are the gates.
Status product(KernelCall &call) {
    const Type &x = call.type(0);
    const Numbers &w = call.constant(1);
    const uint32_t in = x.width(), out = call.type(1).dims[0], half = call.gated() ? out / 2 : out,
                   padded = schedules::pad(half);
    const bool bias = call.node.integer("bias") != 0;
    // Of the lanes behind the last input, which are zero, so many that the sums divide into equal parts.
    const uint32_t read = x.dims.size() == 1 && x.row() > 1 ? (in + 7) / 8 * 8 : x.row();
    const schedules::Panels panels{read, half, call.gated() ? 2u : 1u};
    std::vector<float> weight(panels.size(), 0.f), shift(size_t{padded} * panels.halves, 0.f);
    std::vector<size_t> at(in); // in a column of the panel
    for (uint32_t i = 0; i < in; ++i) at[i] = size_t{x.physical(i)} * panels.width();
    for (uint32_t o = 0; o < out; ++o) {
        float *column = &weight[panels.at(o % half, o / half, 0)];
        for (uint32_t i = 0; i < in; ++i) column[at[i]] = static_cast<float>(w[size_t{o} * in + i]);
        if (bias) shift[size_t{o / half} * padded + o % half] = static_cast<float>(call.constant(2)[o]);
    }
    call.kernel("linear");
    call.param("in", panels.in);
    if (panels.in != x.row()) call.param("in_row", x.row());
    call.param("out", half);
    call.param("rows", call.rows());
    call.param("bias", bias);
    call.param("glu", call.gated());
    call.read_rows(0);
    call.weight("weight", weight);
    if (bias) call.weight("bias", shift);
    call.write();
    return Status::ok();
}

} // namespace longwave::ir
