// mean_window: the mean of the last `frames` rows; at the start, of all rows so far.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/pooling.h"
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
    call.one_call();
    const Ring x = call.ring_of(0);
    const Count count = call.count_of("count");
    call.kernel<contract::MeanWindow>({.channels = call.type(0).width(),
                                       .rows = call.rows(),
                                       .ring = x.rows,
                                       .frames = call.node.integer("frames"),
                                       .counts = count.counts},
                                      {.x = x.place,
                                       .count_so_far = count.so_far,
                                       .position = x.position,
                                       .y = call.result_rows(),
                                       .count = count.state});
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
