// take: elements of a row in another order, once, several times or not at all:
//     y[i] = x[index[i]], 0 where the index is −1
// Elements of x are counted without padding, the slowest dim first. So take also repeats the one
// value of a row over many features, and changes the dims of a row: with `bands` F > 1 the result
// is {F, n / F}.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/selection/runs.h"
#include "compiler/ops/selection/selection.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/selection.h"
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::operand(in[1], "index", {0}));
    const uint32_t n = in[1].dims[0];
    LW_ASSIGN(const uint32_t bands, rules::integer(node, "bands", 1, n));
    if (n % bands) return Status::input(fmt::format("{} elements do not divide into {} bands", n, bands));
    Type type = in[0];
    type.dims = bands == 1 ? std::vector{n} : std::vector{bands, n / bands};
    return type;
}

// Of a row of `width` elements; −2 for what is not an index.
int64_t index_of(double value, size_t width) {
    return value >= -1 && value < static_cast<double>(width) && value == std::floor(value)
               ? static_cast<int64_t>(value)
               : -2;
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.width; ++i) {
        const int64_t index = index_of(in[1]->data[i], in[0]->width);
        for (size_t t = 0; index >= 0 && t < out.rows; ++t) out.row(t)[i] = in[0]->row(t)[index];
    }
}

// Physical places in a row of x for all lanes of a row of the result; −1: zero.
Expected<std::vector<int32_t>> lanes_of(const Type &x, const Type &y, const Numbers &index) {
    std::vector<int32_t> lanes(y.row(), -1);
    for (uint32_t i = 0; i < y.width(); ++i) {
        const int64_t at = index_of(index[i], x.width());
        if (at == -2)
            return Status::input(
                fmt::format("index {} expected -1 to {}, found {}", i, x.width() - 1, index[i]));
        if (at >= 0) lanes[y.physical(i)] = static_cast<int32_t>(x.physical(static_cast<uint32_t>(at)));
    }
    return lanes;
}

Given::Weight pieces(KernelCall &call, const std::string &name, const std::vector<int32_t> &of) {
    if (of.empty()) return {};
    return call.packed(name, Packed::of(Elem::i32, {static_cast<uint32_t>(of.size())}, of));
}

Status take_runs(KernelCall &call, const Runs &runs) {
    call.kernel<contract::TakeRuns>({.in_row = call.type(0).row(),
                                     .row = call.result().row(),
                                     .rows = call.rows(),
                                     .zeros = runs.zeros.to.size(),
                                     .forward = runs.forward.to.size(),
                                     .backward = runs.backward.to.size()},
                                    {.x = call.rows_of(0),
                                     .zeros_to = pieces(call, "zeros_to", runs.zeros.to),
                                     .forward_to = pieces(call, "forward_to", runs.forward.to),
                                     .forward_from = pieces(call, "forward_from", runs.forward.from),
                                     .backward_to = pieces(call, "backward_to", runs.backward.to),
                                     .backward_from = pieces(call, "backward_from", runs.backward.from),
                                     .y = call.result_rows()});
    return Status::ok();
}

Status kernel(KernelCall &call) {
    const Type &x = call.type(0), &y = call.result();
    LW_ASSIGN(const std::vector<int32_t> lanes, lanes_of(x, y, call.constant(1)));
    if (call.context.device.has_any_of(devices::cpu_kernels))
        if (const std::optional<Runs> runs = runs_of(lanes)) return take_runs(call, *runs);
    call.kernel<contract::Take>({.in_row = x.row(), .row = y.row(), .rows = call.rows()},
                                {.x = call.rows_of(0),
                                 .index = call.packed("index", Packed::of(Elem::i32, {y.row()}, lanes)),
                                 .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_take{
    .name = "take",
    .attributes = {{"bands", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .kernel = kernel,
    .rewrites = {.takes_elements = true},
    .reference = reference,
};

Expected<ValueId> make_taken(Builder &to, ValueId x, std::vector<double> index, int64_t bands,
                             const std::string &layer) {
    const auto n = static_cast<uint32_t>(index.size());
    const ValueId constant = to.constant("index", {n}, std::move(index));
    return to.node(op_take.name, {x, constant}, {{"bands", bands}}, layer);
}

} // namespace longwave::ir
