// embedding: row `id` of a table. A table that holds a part of the vocabulary has row id − first,
// and other ids have rows of zeros. The runtime checks the range of ids where they enter. A table
// that is also the matrix of a product (tied weights) is read as the product stores it. A table of
// int8 lies as a matrix of its own.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/linear.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr uint32_t most_ids = 1 << 24;

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(weight_format(node).status());
    if (node.has("first")) LW_TRY(rules::integer(node, "first", 0, most_ids).status());
    if (in[0].elem != Elem::i32) return Status::input("expected token ids, found float32 rows");
    if (in[0].dims != std::vector<uint32_t>{1})
        return Status::input("expected one id a row, found " + rules::text(in[0].dims));
    LW_TRY(rules::operand(in[1], "table", {0, 0}));
    Type type = in[0];
    type.elem = Elem::f32;
    type.dims = {in[1].dims[1]};
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto size = static_cast<int64_t>(in[1]->data.size() / out.width);
    const int64_t first = node.has("first") ? node.integer("first") : 0;
    for (size_t t = 0; t < out.rows; ++t) {
        const auto id = static_cast<int64_t>(*in[0]->row(t)) - first;
        if (id >= 0 && id < size)
            in[1]->data.read(static_cast<size_t>(id) * out.width, {out.row(t), out.width});
    }
}

using Params = contract::Embedding;
using Arguments = contract::Embedding::Arguments<Given>;

// The table of a product of `x`. Both ask for the same bytes, which the planner stores once.
void read_panels(KernelCall &call, const Type &x, schedules::WeightFormat format, Params &params,
                 Arguments &arguments) {
    schedules::PackedPanels packed = packed_matrix(call.constant(1), call.type(1), x, false, format);
    params.panels = packed.panels.in;
    params.weights = std::string(schedules::name_of(format));
    const std::vector<float> scales = std::move(packed.scales);
    arguments.w = call.packed("weight", words_of(std::move(packed), format));
    if (!scales.empty()) arguments.scale = call.packed("scale", scales);
}

Place rows_of_table(KernelCall &call) {
    const std::vector<uint32_t> &dims = call.type(1).dims;
    const size_t stride = schedules::pad(dims[1]);
    std::vector<float> table(dims[0] * stride, 0.f);
    std::vector<double> row(dims[1]);
    for (size_t id = 0; id < dims[0]; ++id) {
        call.constant(1).read(id * dims[1], row);
        std::transform(row.begin(), row.end(), table.begin() + static_cast<ptrdiff_t>(id * stride),
                       [](double value) { return static_cast<float>(value); });
    }
    const auto size = static_cast<uint32_t>(table.size());
    return call.packed("weight", Packed::f32({size}, std::move(table)));
}

Status kernel(KernelCall &call) {
    const std::vector<uint32_t> &dims = call.type(1).dims;
    Params params{.vocabulary = dims[0], .width = dims[1], .rows = call.rows()};
    if (call.node.has("first")) params.first = call.node.integer("first");
    Arguments arguments{.ids = call.rows_of(0)};
    if (const Node *const tied = multiplier(call.graph(), call.node.inputs[1])) {
        LW_ASSIGN(const schedules::WeightFormat format, weight_format(*tied));
        read_panels(call, call.graph().type(tied->inputs[0]), format, params, arguments);
    } else if (call.node.has(stored_weights.name) && dims[0] > 1) {
        LW_ASSIGN(const schedules::WeightFormat format, weight_format(call.node));
        read_panels(call, call.graph().type(call.node.output), format, params, arguments);
    } else {
        arguments.table = rows_of_table(call);
    }
    arguments.y = call.result_rows();
    call.kernel(params, arguments);
    return Status::ok();
}

} // namespace

const OpDef op_embedding{
    .name = "embedding",
    .attributes = {{"first", AttributeDef::Kind::integer, false}, stored_weights},
    .infer = infer,
    .stream = row_by_row,
    .kernel = kernel,
    .rewrites = {.gathers_rows = true},
    .reference = reference,
};

} // namespace longwave::ir
