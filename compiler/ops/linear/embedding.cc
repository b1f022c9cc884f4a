// embedding: row `id` of a table. A table that holds a part of the vocabulary has row id − first,
// and other ids have rows of zeros. The runtime checks the range of ids where they enter.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr uint32_t most_ids = 1 << 24;

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
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
        if (id < 0 || id >= size) continue;
        std::copy_n(in[1]->data.begin() + static_cast<ptrdiff_t>(id * static_cast<int64_t>(out.width)),
                    out.width, out.row(t));
    }
}

Status kernel(KernelCall &call) {
    const std::vector<uint32_t> &dims = call.type(1).dims;
    const size_t vocabulary = dims[0], width = dims[1], stride = schedules::pad(dims[1]);
    std::vector<float> table(vocabulary * stride, 0.f);
    for (size_t id = 0; id < vocabulary; ++id)
        for (size_t i = 0; i < width; ++i)
            table[id * stride + i] = static_cast<float>(call.constant(1)[id * width + i]);
    call.kernel("embedding");
    call.param("vocabulary", dims[0]);
    call.param("width", dims[1]);
    if (call.node.has("first")) call.param("first", call.node.integer("first"));
    call.param("rows", call.rows());
    call.read_rows(0);
    call.weight("weight", table);
    call.write();
    return Status::ok();
}

} // namespace

const OpDef op_embedding{
    .name = "embedding",
    .attributes = {{"first", AttributeDef::Kind::integer, false}},
    .infer = infer,
    .stream = row_by_row,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
