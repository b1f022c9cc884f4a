// mean: pools a sequence into one row: its mean, sum or largest values, its first or its last row.
// Only the first `length` rows count (lw_run_tensor.length). A stream returns the value so far.
#include "compiler/ir/builder.h"
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
    const std::string &mode = node.text("mode");
    if (mode != "mean" && mode != "sum" && mode != "max" && mode != "first" && mode != "last")
        return Status::input("attribute mode expected mean, sum, max, first or last, found \"" + mode + "\"");
    Type type = in[0];
    type.clock = {0, 1};
    return type;
}

StreamRule stream(const Node &node, std::span<const Type>) {
    if (node.text("mode") != "first") return {};
    return looks_ahead("it answers with the first position of the sequence, which a stream has no use for");
}

// A stream answers with the value so far: the newest row is the last one, and a mean or a maximum
// runs.
Expected<ValueId> streamed(Rewriter &rewrite, const Node &node) {
    const std::string &mode = node.text("mode");
    if (mode == "last") return rewrite.map(node.inputs[0]);
    return rewrite.to().node("running_mean", {rewrite.map(node.inputs[0])}, {{"mode", mode}}, node.layer);
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const std::string &mode = node.text("mode");
    if (context.length == 0) return;
    const size_t begin = mode == "last" ? context.length - 1 : 0, end = mode == "first" ? 1 : context.length;
    for (size_t t = begin; t < end; ++t)
        for (size_t i = 0; i < out.width; ++i) {
            const double x = in[0]->row(t)[i];
            out.data[i] = mode != "max" ? out.data[i] + x : t ? std::max(out.data[i], x) : x;
        }
    if (mode == "mean")
        for (double &value : out.data) value /= static_cast<double>(context.length);
}

// One call for the full sequence.
Status kernel(KernelCall &call) {
    LW_TRY(rules::plain_channels(call));
    call.kernel<contract::MeanRun>(
        {.channels = call.type(0).width(), .rows = call.rows_of_input(0), .mode = call.node.text("mode")},
        {.x = call.all_rows_of(0), .length = call.valid_rows_of(0), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_mean{
    .name = "mean",
    .attributes = {{"mode", AttributeDef::Kind::text}},
    .infer = infer,
    .stream = stream,
    .kernel = kernel,
    .streamed = streamed,
    .reference = reference,
};

} // namespace longwave::ir
