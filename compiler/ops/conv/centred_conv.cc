// centred_conv: a short filter per channel that reaches equally far ahead and back, in the
// cross-correlation order of torch, with zeros outside the sequence: y[t,h] = Σ_i w[h,i] x[t+i−p,h]
// + bias[h], 2p + 1 taps.
#include "compiler/ir/builder.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/filter.h"
#include "compiler/ops/support/late.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/conv.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t bias, rules::flag(node, "bias"));
    LW_TRY(rules::count(in, 2 + bias));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_TRY(rules::operand(in[1], "weight", {in[0].dims[0], 0}));
    if (in[1].dims[1] % 2 == 0)
        return Status::input(fmt::format("an odd number of taps expected, found {}", in[1].dims[1]));
    if (bias) LW_TRY(rules::operand(in[2], "bias", {in[0].dims[0]}));
    Type type = in[0];
    type.causal = false;
    return type;
}

StreamRule stream(const Node &, std::span<const Type> in) {
    const uint32_t taps = in[1].dims[1];
    StreamRule rule =
        looks_ahead(fmt::format("it is centred ({} taps read {} samples after t)", taps, taps / 2));
    rule.ahead = taps / 2;
    return rule;
}

// A convolution whose newest tap is half its length ahead. A single tap is a causal one.
Expected<ValueId> streamed(Rewriter &rewrite, const Node &node) {
    Builder &to = rewrite.to();
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(rewrite.map(id));
    const Constant *weight = to.graph().constant(inputs[1]);
    if (!weight) return Status::input("its weights must be constants");
    const std::vector<uint32_t> dims = to.graph().type(inputs[1]).dims;
    const Constant taps = *weight;
    inputs[1] = to.constant(taps.key + ".ahead", {dims[0], 1, dims[1], 1}, taps.data);
    LW_ASSIGN(const uint32_t ahead, reach_whole_ticks(to, inputs, dims[1] / 2));
    const Attributes attributes{{"stride_t", int64_t{1}},     {"stride_f", int64_t{1}},
                                {"groups", int64_t{dims[0]}}, {"bias", node.integer("bias")},
                                {"frequency", int64_t{0}},    {"ahead", int64_t{ahead}}};
    return to.node(op_late_conv2d.name, std::move(inputs), attributes, node.layer);
}

uint32_t reach(const Node &, std::span<const Type> in) { return in[1].dims[1] / 2; }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const size_t taps = context.types[1].dims[1];
    for (size_t h = 0; h < out.width; ++h) {
        const std::vector<double> w = in[1]->data.copy(h * taps, taps); // the newest row last
        const auto newest = w.rbegin() + static_cast<ptrdiff_t>(taps / 2);
        std::vector<double> x(in[0]->rows);
        for (size_t t = 0; t < x.size(); ++t) x[t] = in[0]->row(t)[h];
        const std::vector<double> y = filtered(x, {newest, w.rend()}, {newest.base(), w.end()});
        const double bias = node.integer("bias") ? in[2]->data[h] : 0.0;
        for (size_t t = 0; t < out.rows; ++t) out.row(t)[h] = bias + y[t];
    }
}

// Weights [taps][P(H)], without the taps at either end that are zero for all heads.
Status kernel(KernelCall &call) {
    const uint32_t heads = call.type(0).dims[0], all = call.type(1).dims[1], half = all / 2,
                   stride = schedules::pad(heads);
    const bool bias = call.node.integer("bias") != 0;
    uint32_t first = half, last = half;
    for (uint32_t i = 0; i < all; ++i)
        for (uint32_t h = 0; h < heads; ++h)
            if (call.constant(1)[size_t{h} * all + i] != 0)
                first = std::min(first, i), last = std::max(last, i);
    const uint32_t taps = last - first + 1;
    call.one_call();
    std::vector<float> packed(size_t{taps} * stride, 0.f);
    for (size_t h = 0; h < heads; ++h)
        for (size_t i = 0; i < taps; ++i)
            packed[i * stride + h] = static_cast<float>(call.constant(1)[h * all + first + i]);
    contract::CentredConv params{.channels = heads, .taps = taps, .rows = call.rows(), .bias = bias};
    if (last - half != taps / 2 || taps % 2 == 0) params.ahead = last - half;
    call.kernel<contract::CentredConv>(
        params, {.x = call.all_rows_of(0),
                 .weight = call.packed("weight", packed),
                 .bias = bias ? Given::Weight(call.packed("bias", call.type(0).packed(call.constant(2))))
                              : Given::Weight(),
                 .y = call.result_rows()});
    return Status::ok();
}

bool is_filter(const Graph &, const Node &) { return true; }

std::optional<Filter> read_filter(const Graph &graph, const Node &node) {
    if (!constants_from(graph, node, 1)) return {};
    const Numbers &w = graph.constant(node.inputs[1])->data;
    const auto &dims = graph.type(node.inputs[1]).dims;
    const size_t half = dims[1] / 2;
    Filter filter = Filter::identity(dims[0]);
    filter.two_sided = true;
    for (size_t h = 0; h < dims[0]; ++h) {
        const std::vector<double> row = w.copy(h * dims[1], dims[1]);
        const auto middle = row.begin() + static_cast<ptrdiff_t>(half); // lag 0
        filter.taps[h].assign(std::make_reverse_iterator(middle + 1), row.rend());
        filter.ahead[h].assign(middle + 1, row.end());
        if (node.integer("bias")) filter.bias[h] = graph.constant(node.inputs[2])->data[h];
    }
    return filter;
}

// A sum of centred filters and identities: as many taps ahead as behind, or fewer on one side.
Expected<ValueId> write_filter(Rewriter &rewrite, const Graph &, ValueId x, const Filter &filter,
                               const std::string &layer) {
    const size_t half = std::max(filter.known_taps() - 1, filter.known_ahead()), taps = 2 * half + 1;
    const auto heads = static_cast<uint32_t>(filter.heads);
    std::vector<double> weight(heads * taps);
    for (size_t h = 0; h < heads; ++h) {
        double *row = &weight[h * taps + half];
        for (size_t j = 0; j < filter.taps[h].size(); ++j) *(row - j) = filter.taps[h][j];
        std::copy(filter.ahead[h].begin(), filter.ahead[h].end(), row + 1);
    }
    Builder &to = rewrite.to();
    std::vector<ValueId> inputs{
        x, to.constant(layer + ".weight.merged", {heads, static_cast<uint32_t>(taps)}, std::move(weight))};
    if (filter.biased()) inputs.push_back(to.constant(layer + ".bias.merged", {heads}, filter.bias));
    return to.node(op_centred_conv.name, std::move(inputs), {{"bias", int64_t{filter.biased()}}}, layer);
}

constexpr FilterForm filter_form{.is = is_filter, .read = read_filter, .write = write_filter};

} // namespace

const OpDef op_centred_conv{
    .name = "centred_conv",
    .attributes = {{"bias", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .reach = reach,
    .end = EndRule::clear,
    .pads_itself = true,
    .kernel = kernel,
    .streamed = streamed,
    .rewrites = {.fold_result = fold_result_into_weights, .filter = &filter_form},
    .reference = reference,
};

} // namespace longwave::ir
