// running_mean: the streaming form of `mean`: at each row the mean, the sum or the largest values
// of all rows so far. make_streaming adds it; packages cannot name it.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/pooling.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    const std::string &mode = node.text("mode");
    if (mode != "mean" && mode != "sum" && mode != "max")
        return Status::input("attribute mode expected mean, sum or max, found \"" + mode + "\"");
    return in[0];
}

// Sums of the channels, or their largest values, and the number of rows.
StreamRule stream(const Node &, std::span<const Type> in) {
    return {.carries = {{"sums", Elem::f64, {schedules::pad(in[0].width())}}, {"count", Elem::f64, {1}}}};
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const bool mean = node.text("mode") == "mean", largest = node.text("mode") == "max";
    std::vector<double> sum(out.width, 0.0);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t i = 0; i < out.width; ++i) {
            const double x = in[0]->row(t)[i];
            sum[i] = !largest ? sum[i] + x : t ? std::max(sum[i], x) : x;
            out.row(t)[i] = mean ? sum[i] / static_cast<double>(t + 1) : sum[i];
        }
}

Status kernel(KernelCall &call) {
    LW_TRY(rules::plain_channels(call));
    call.one_call();
    const Place sums = call.state("sums");
    const Count count = call.count_of("count");
    call.kernel<contract::MeanStream>({.channels = call.type(0).width(),
                                       .rows = call.rows(),
                                       .mode = call.node.text("mode"),
                                       .counts = count.counts},
                                      {.x = call.rows_of(0),
                                       .count_so_far = count.so_far,
                                       .y = call.result_rows(),
                                       .sums = sums,
                                       .count = count.state});
    return Status::ok();
}

} // namespace

const OpDef op_running_mean{
    .name = "running_mean",
    .attributes = {{"mode", AttributeDef::Kind::text}},
    .infer = infer,
    .stream = stream,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
