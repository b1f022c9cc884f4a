// mean_window: the mean of the last `frames` rows; at the start, of all rows so far.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::integer(node, "frames", 1, 1 << 20).status());
    return in[0];
}

StreamRule stream(const Node &node, std::span<const Type>) {
    return {.history = static_cast<uint32_t>(node.integer("frames")) - 1,
            .carries = {{"count", Elem::f64, {1}}}};
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto frames = static_cast<size_t>(node.integer("frames"));
    for (size_t t = 0; t < out.rows; ++t) {
        const size_t n = std::min(frames, t + 1);
        for (size_t j = 0; j < n; ++j)
            for (size_t i = 0; i < out.width; ++i)
                out.row(t)[i] += in[0]->row(t - j)[i] / static_cast<double>(n);
    }
}

Status kernel(KernelCall &call) {
    LW_TRY(rules::plain_channels(call));
    call.kernel("mean_window");
    call.one_call();
    call.param("channels", call.type(0).width());
    call.param("rows", call.rows());
    call.param("frames", call.node.integer("frames"));
    call.read_ring(0);
    call.write();
    call.carry_count("count");
    return Status::ok();
}

} // namespace

const OpDef op_mean_window{
    .name = "mean_window",
    .attributes = {{"frames", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
