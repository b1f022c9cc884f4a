// active_clusters: the clusters of a two-level softmax (log_softmax.cc) that may hold a word which
// the reader of a stream takes. A word is at most as likely as its class. So if the logit of a
// class is below the largest logit of the head by more than the reader's margin, the reader takes
// no word of that cluster. 1: active. With the margin `every` or a larger one every cluster is active;
// the reference computes this case.
#include "compiler/ops/linear/skip_mask.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/linear.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    for (const Type &row : in) {
        LW_TRY(rules::real(row));
        LW_TRY(rules::rank(row, 1));
    }
    if (in[2].dims != in[1].dims)
        return Status::input(fmt::format("expected a margin for each class of {}, found {}",
                                         rules::text(in[1].dims), rules::text(in[2].dims)));
    LW_TRY(rules::integer(node, "every", 1, 1 << 20).status());
    Type type = in[1];
    type.causal = type.causal && in[0].causal;
    return type;
}

void reference(const Node &, std::span<const Operand *const>, const ReferenceContext &, Array &out) {
    std::fill(out.data.begin(), out.data.end(), 1.0);
}

Status kernel(KernelCall &call) {
    call.kernel<contract::ActiveClusters>(
        {.words = call.type(0).width(), .classes = call.type(1).width(), .every = call.node.integer("every")},
        {.words = call.rows_of(0),
         .classes = call.rows_of(1),
         .margin = call.rows_of(2),
         .wanted = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_active_clusters{
    .name = "active_clusters",
    .attributes = {{"every", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .used = takes_skip_mask,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
