// cumulative_softmax: the weight of the newest row in a softmax over all rows so far, per channel
// (the normalised keys of LightNet): w_t = e^{k_t} / S_t with S_t = S_0 + Σ_{τ ≤ t} e^{k_τ}. The
// state is log S in float64, so no exponential overflows. With `log` the result is
// log S_t itself. An optional second input is a mask: rows with mask 0 have weight 0 and leave S
// unchanged.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/attention.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

bool returns_log(const Node &node) { return node.has("log") && node.integer("log"); }

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    const bool masked = in.size() == 2;
    LW_TRY(rules::count(in, masked ? 2 : 1));
    LW_TRY(rules::flag(node, "start").status());
    if (node.has("log")) LW_TRY(rules::flag(node, "log").status());
    if (returns_log(node) && (masked || node.integer("start")))
        return Status::input("attribute log expected with start 0 and without a mask");
    Type type = in[0];
    for (const Type &other : in) {
        LW_TRY(rules::real(other));
        LW_TRY(rules::timed(other));
        LW_TRY(rules::rank(other, 1));
        if (other.clock != type.clock) return Status::input("keys and mask expected at one rate");
        type.causal = type.causal && other.causal;
        type.delay = std::max(type.delay, other.delay);
    }
    if (masked && in[1].dims[0] != 1)
        return Status::input(fmt::format("a mask of width 1 expected, found {}", in[1].dims[0]));
    return type;
}

// log S, and how many rows there were where S begins with nothing.
StreamRule stream(const Node &node, std::span<const Type> in) {
    StreamRule rule{.carries = {{"z", Elem::f64, {schedules::pad(in[0].width())}}}};
    if (node.integer("start") == 0) rule.carries.push_back({"count", Elem::f64, {1}});
    return rule;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    std::vector<double> z(out.width, node.integer("start") ? 0.0 : -INFINITY);
    for (size_t t = 0; t < out.rows; ++t) {
        if (in.size() == 2 && in[1]->row(t)[0] == 0) continue;
        for (size_t i = 0; i < out.width; ++i) {
            const double k = in[0]->row(t)[i], top = std::max(z[i], k);
            z[i] = top + std::log(std::exp(z[i] - top) + std::exp(k - top));
            out.row(t)[i] = returns_log(node) ? z[i] : std::exp(k - z[i]);
        }
    }
}

Status kernel(KernelCall &call) {
    const bool masked = call.node.inputs.size() == 2, one = call.node.integer("start") != 0;
    call.one_call();
    const Place z = call.state("z");
    const Count count = one ? Count{} : call.count_of("count");
    call.kernel<contract::CumulativeSoftmax>({.channels = call.type(0).width(),
                                              .rows = call.rows(),
                                              .start = one,
                                              .mask = masked,
                                              .log = returns_log(call.node),
                                              .counts = count.counts},
                                             {.k = call.rows_of(0),
                                              .mask = masked ? Given::Input(call.rows_of(1)) : Given::Input(),
                                              .count_so_far = count.so_far,
                                              .w = call.result_rows(),
                                              .z = z,
                                              .count = count.state});
    return Status::ok();
}

} // namespace

const OpDef op_cumulative_softmax{
    .name = "cumulative_softmax",
    .attributes = {{"start", AttributeDef::Kind::integer}, {"log", AttributeDef::Kind::integer, false}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
