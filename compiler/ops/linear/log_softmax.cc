// log_softmax: the logarithm of a softmax over a row. With classes and tails it has two levels
// (adaptive softmax, Grave et al. 2017). The head is words and classes side by side. Class i stands
// for the words of tail i. The words of a tail follow the words of the head, each with the
// log-probability of its class added, so no word is likelier than its class. `skip_mask`: a further
// input says which tails anybody reads.
#include "compiler/ops/linear/skip_mask.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/linear.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

constexpr size_t most_tails = 7;

// Rows of words and classes, without the mask.
size_t rows_among(const Node &node, size_t inputs) { return inputs - (has_skip_mask(node) && inputs > 0); }

Expected<Type> infer(const Node &node, std::span<const Type> all) {
    const auto in = all.first(rows_among(node, all.size()));
    if (in.size() == 2 || in.empty() || in.size() > 2 + most_tails)
        return Status::input(fmt::format(
            "expected one row, or words, classes and 1 to {} tails, found {} inputs", most_tails, in.size()));
    uint64_t words = 0;
    for (size_t i = 0; i < in.size(); ++i) {
        LW_TRY(rules::real(in[i]));
        LW_TRY(rules::rank(in[i], 1));
        if (in[i].clock.num != in[0].clock.num || in[i].clock.den != in[0].clock.den)
            return Status::input("expected rows of one rate");
        if (i != 1) words += in[i].dims[0];
    }
    if (in.size() > 2 && in[1].dims[0] != in.size() - 2)
        return Status::input(
            fmt::format("expected a class for each of {} tails, found {}", in.size() - 2, in[1].dims[0]));
    if (has_skip_mask(node)) {
        LW_TRY(rules::integer(node, skip_mask_attribute.name, 0, 0).status());
        if (in.size() < 3 || all.back().width() != in[1].width())
            return Status::input("expected a value of the skip mask for each tail");
    }
    Type type = in[0];
    for (const Type &other : all) type.causal = type.causal && other.causal;
    LW_ASSIGN(const uint32_t width, rules::elements({words}, "the words"));
    type.dims = {width};
    return type;
}

using Row = std::span<const double>;

Row row(const Operand &x, size_t t) { return {x.row(t), x.width}; }

double log_sum(Row x, Row more = {}) {
    double top = x[0], sum = 0;
    for (const Row part : {x, more})
        for (const double value : part) top = std::max(top, value);
    for (const Row part : {x, more})
        for (const double value : part) sum += std::exp(value - top);
    return top + std::log(sum);
}

void reference(const Node &node, std::span<const Operand *const> all, const ReferenceContext &, Array &out) {
    const auto in = all.first(rows_among(node, all.size()));
    for (size_t t = 0; t < out.rows; ++t) {
        const Row head = row(*in[0], t), classes = in.size() > 1 ? row(*in[1], t) : Row();
        const double whole = log_sum(head, classes);
        double *y = out.row(t);
        for (const double logit : head) *y++ = logit - whole;
        for (size_t tail = 2; tail < in.size(); ++tail) {
            const Row x = row(*in[tail], t);
            const double shift = classes[tail - 2] - whole - log_sum(x);
            for (const double logit : x) *y++ = logit + shift;
        }
    }
}

Status kernel(KernelCall &call) {
    LW_TRY(rules::plain_channels(call));
    const size_t inputs = rows_among(call.node, call.node.inputs.size());
    const bool masked = has_skip_mask(call.node) && takes_skip_mask(call.context);
    std::vector<int64_t> sizes;
    for (size_t i = 2; i < inputs; ++i) sizes.push_back(call.type(i).width());
    contract::LogSoftmax::Arguments<Given> arguments{.words = call.rows_of(0)};
    if (inputs > 1) arguments.classes = call.rows_of(1);
    for (size_t i = 2; i < inputs; ++i) arguments.tail.emplace_back(call.rows_of(i));
    if (masked) arguments.advice = call.rows_of(inputs);
    arguments.log_probabilities = call.result_rows();
    call.kernel<contract::LogSoftmax>(
        {.words = call.type(0).width(), .rows = call.rows(), .tails = std::move(sizes), .advised = masked},
        arguments);
    return Status::ok();
}

} // namespace

const OpDef op_log_softmax{
    .name = "log_softmax",
    .attributes = {skip_mask_attribute},
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
