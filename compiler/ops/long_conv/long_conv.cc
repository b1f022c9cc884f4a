// long_conv: one long kernel per channel in lag form (k[0] weighs the current row), plus D times
// the current row. If it is two-sided, the second half of the kernels starts at lag −1: its first
// tap weighs the next row. With `ahead`, only so many taps of that half are not zero, and a stream
// waits for as many rows (late_long_conv).
#include "compiler/base/parallel.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/long_conv/multi_scale.h"
#include "compiler/ops/support/filter.h"
#include "compiler/ops/support/late.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler::convolution {
#define LW_ALGORITHM(name) extern const ir::Algorithm name;
#include "compiler/ops/long_conv/algorithms.inc"
#undef LW_ALGORITHM
} // namespace longwave::compiler::convolution

namespace longwave::ir {

namespace {

// Rows that a stream waits for; 0: none, or more than it may wait for.
uint32_t ahead_of(const Node &node) {
    return node.has("ahead") ? static_cast<uint32_t>(node.integer("ahead")) : 0;
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t copies, rules::integer(node, "channels", 1, 1 << 20));
    LW_ASSIGN(const uint32_t two_sided, rules::flag(node, "two_sided"));
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    const uint32_t heads = in[0].dims[0];
    LW_TRY(rules::operand(in[1], "kernel", {two_sided ? 2 * copies : copies, heads, 0}));
    LW_TRY(rules::operand(in[2], "D", {copies, heads}));
    if (node.has("ahead")) LW_TRY(rules::integer(node, "ahead", 1, in[1].dims[2]).status());
    if (node.has("ahead") && !two_sided && node.op == &op_long_conv)
        return Status::input("attribute ahead expected two_sided 1, found 0");
    Type type = in[0];
    if (copies > 1)
        type.dims = heads > 1 ? std::vector<uint32_t>{copies, heads} : std::vector<uint32_t>{copies};
    type.causal = in[0].causal && !two_sided;
    return type;
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    StreamRule rule = history(in[1].dims[2] - 1);
    if (!node.integer("two_sided")) return rule;
    rule.looks_ahead = "it is bidirectional (the second kernel reads samples after t)";
    rule.ahead = ahead_of(node);
    return rule;
}

// Rows come when the row ahead is there, so every tap reads a row of the past.
Expected<Type> infer_late(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(Type type, infer(node, in));
    type.delay = in[0].delay + ticks_of_rows(ahead_of(node), in[0].clock);
    return type;
}

StreamRule stream_late(const Node &node, std::span<const Type> in) {
    return {.history = in[1].dims[2] - 1, .ahead = ahead_of(node)};
}

// One kernel of the taps ahead, the furthest first, and of the others. D weighs the row itself, so
// it is one of them.
Expected<ValueId> streamed(Rewriter &rewrite, const Node &node) {
    const uint32_t ahead = ahead_of(node);
    if (!ahead) return rewrite.keep(node);
    Builder &to = rewrite.to();
    const uint32_t waits = in_whole_ticks(ahead, to.graph().type(rewrite.map(node.inputs[0])).clock);
    const ValueId x = rewrite.map(node.inputs[0]), k = rewrite.map(node.inputs[1]),
                  d = rewrite.map(node.inputs[2]);
    const Constant *taps = to.graph().constant(k), *direct = to.graph().constant(d);
    if (!taps || !direct)
        return Status::input(
            fmt::format("layer {}: its taps must be constants to wait for rows", node.layer));
    const std::vector<uint32_t> dims = to.graph().type(k).dims; // [2·C, H, K]
    const size_t rows = size_t{dims[0]} / 2 * dims[1], given = dims[2];
    std::vector<double> one;
    for (size_t n = 0; n < rows; ++n) {
        const std::vector<double> behind = taps->data.copy(n * given, given),
                                  before = taps->data.copy((rows + n) * given, given);
        if (std::any_of(before.begin() + ahead, before.end(), [](double tap) { return tap != 0; }))
            return Status::input(fmt::format(
                "layer {}: attribute ahead is {}, and a tap further ahead is not zero", node.layer, ahead));
        one.insert(one.end(), waits - ahead, 0.0);
        one.insert(one.end(), std::make_reverse_iterator(before.begin() + ahead), before.rend());
        one.push_back(behind[0] + direct->data[n]);
        one.insert(one.end(), behind.begin() + 1, behind.end());
    }
    const std::string key = taps->key + ".late";
    const ValueId late = to.constant(key, {dims[0] / 2, dims[1], dims[2] + waits}, std::move(one)),
                  none = to.constant(key + ".D", {dims[0] / 2, dims[1]}, std::vector(rows, 0.0));
    return to.node(
        op_late_long_conv.name, {x, late, none},
        {{"channels", node.integer("channels")}, {"two_sided", int64_t{0}}, {"ahead", int64_t{waits}}},
        node.layer);
}

// Of a two-sided kernel: ahead by one row more than back.
uint32_t reach(const Node &, std::span<const Type> in) { return in[1].dims[2]; }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const Operand &u = *in[0];
    const auto copies = static_cast<size_t>(node.integer("channels"));
    const size_t heads = u.width, taps = context.types[1].dims[2];
    const auto late = node.op == &op_late_long_conv ? static_cast<ptrdiff_t>(ahead_of(node)) : 0;
    in_parts(copies * heads, context.workers, [&](size_t begin, size_t end) {
        for (size_t n = begin; n < end; ++n) { // (copy, head)
            std::vector<double> k0 = in[1]->data.copy(n * taps, taps);
            std::vector<double> k1 =
                in[1]->data.copy((copies * heads + n) * taps, node.integer("two_sided") ? taps : 0);
            if (late) { // one kernel, the furthest tap ahead first
                k1.assign(std::make_reverse_iterator(k0.begin() + late), k0.rend());
                k0.erase(k0.begin(), k0.begin() + late);
            }
            std::vector<double> x(u.rows);
            for (size_t t = 0; t < u.rows; ++t) x[t] = u.row(t)[n % heads];
            const std::vector<double> y = filtered(x, k0, k1);
            for (size_t t = 0; t < out.rows; ++t) out.row(t)[n] = y[t] + in[2]->data[n] * x[t];
        }
    });
}

bool is_filter(const Graph &, const Node &) { return true; }

// Of a prepared kernel, the taps known now are those that it adds itself.
std::optional<Filter> read_filter(const Graph &graph, const Node &node) {
    const Constant *k = graph.constant(node.inputs[1]), *d = graph.constant(node.inputs[2]);
    const Node *made = graph.producer(node.inputs[1]);
    if (!d || (!k && !(made && made->op->rewrites.prepared))) return {};
    const std::optional<Numbers> known = k ? k->data : made->op->rewrites.prepared->added(graph, *made);
    if (!known) return {};
    const auto &dims = graph.type(node.inputs[1]).dims; // [C', H, taps]
    Filter filter = Filter::identity(dims[1], static_cast<uint32_t>(node.integer("channels")));
    filter.two_sided = node.integer("two_sided") != 0;
    filter.may_wait = !filter.two_sided || node.has("ahead");
    const size_t length = known->size() / (size_t{dims[0]} * dims[1]);
    for (size_t n = 0; n < filter.rows(); ++n) {
        filter.taps[n] = known->empty() ? std::vector{0.0} : known->copy(n * length, length);
        filter.taps[n][0] += d->data[n];
        filter.scattered |= k && d->data[n] != 0;
        if (!filter.two_sided || known->empty()) continue;
        filter.ahead[n] = known->copy((filter.rows() + n) * length, length);
        if (!node.has("ahead")) continue;
        const auto end =
            filter.ahead[n].begin() + std::min<ptrdiff_t>(ahead_of(node), static_cast<ptrdiff_t>(length));
        if (std::any_of(end, filter.ahead[n].end(), [](double tap) { return tap != 0; }))
            return {}; // `streamed` says so
        filter.ahead[n].erase(end, filter.ahead[n].end());
    }
    if (!k) {
        filter.prepared = made;
        filter.prepared_taps = dims[2];
    }
    return filter;
}

Expected<ValueId> write_filter(Rewriter &rewrite, const Graph &from, ValueId x, const Filter &filter,
                               const std::string &layer) {
    const auto heads = static_cast<uint32_t>(filter.heads), copies = static_cast<uint32_t>(filter.copies()),
               length = static_cast<uint32_t>(std::max(filter.known_taps(), filter.known_ahead()));
    std::vector<double> taps; // [C', H, length]
    const auto append = [&](const std::vector<std::vector<double>> &side) {
        for (const auto &row : side) {
            taps.insert(taps.end(), row.begin(), row.end());
            taps.insert(taps.end(), length - row.size(), 0.0);
        }
    };
    append(filter.taps);
    if (filter.two_sided) append(filter.ahead);
    Builder &to = rewrite.to();
    ValueId k = to.constant(layer + ".k.merged", {filter.two_sided ? 2 * copies : copies, heads, length},
                            std::move(taps));
    if (filter.prepared) {
        LW_ASSIGN(k, filter.prepared->op->rewrites.prepared->write(rewrite, from, *filter.prepared,
                                                                   filter.gain, k, layer));
    }
    const ValueId d = to.constant(layer + ".D.merged", {copies, heads}, std::vector(filter.rows(), 0.0));
    Attributes attributes{{"channels", int64_t{copies}}, {"two_sided", int64_t{filter.two_sided}}};
    if (filter.two_sided && filter.may_wait && !filter.prepared)
        attributes["ahead"] = static_cast<int64_t>(std::max<size_t>(1, filter.known_ahead()));
    LW_ASSIGN(const ValueId y, to.node(op_long_conv.name, {x, k, d}, std::move(attributes), layer));
    if (!filter.biased()) return y;
    const auto width = static_cast<uint32_t>(filter.rows());
    const ValueId ones = to.constant(layer + ".ones", {width}, std::vector(width, 1.0)),
                  bias = to.constant(layer + ".bias.merged", {width}, filter.bias);
    return to.node(op_affine.name, {y, ones, bias}, {}, layer);
}

// Numbers where the first of each of the first `rows` rows is zero.
class WithoutFirst : public NumberSource {
public:
    WithoutFirst(Numbers numbers, size_t of_row, size_t rows)
        : numbers_(std::move(numbers)), of_row_(of_row), end_(rows * of_row) {}
    size_t size() const override { return numbers_.size(); }
    void read(size_t first, std::span<double> to) const override {
        numbers_.read(first, to);
        for (size_t i = (of_row_ - first % of_row_) % of_row_; first + i < end_ && i < to.size();
             i += of_row_)
            to[i] = 0;
    }

private:
    Numbers numbers_;
    size_t of_row_, end_;
};

// Tap 0 joins D, which stays float32: an identity there would leave no steps to its neighbours.
Expected<std::optional<ValueId>> round_taps(Rewriter &rewrite, const Graph &from, const Node &node,
                                            const Rewrites::Round &round) {
    const Constant *k = from.constant(node.inputs[1]), *d = from.constant(node.inputs[2]);
    const auto &dims = from.type(node.inputs[1]).dims; // [C', H, taps]
    const size_t taps = dims[2];
    if (!k || !d || taps < schedules::int8_taps || !fills_words(dims[0], dims[1]))
        return std::optional<ValueId>();
    std::vector<double> direct = d->data.to_vector();
    for (size_t n = 0; n < direct.size(); ++n) direct[n] += k->data[n * taps];
    LW_ASSIGN(Numbers rounded,
              round(Numbers(std::make_shared<WithoutFirst>(k->data, taps, direct.size())), taps));
    Builder &to = rewrite.to();
    const ValueId stored = to.constant(k->key + ".int8", dims, std::move(rounded)),
                  first =
                      to.constant(d->key + ".with tap 0", from.type(node.inputs[2]).dims, std::move(direct));
    Attributes attributes = node.attributes;
    attributes[stored_weights.name] = "int8";
    LW_ASSIGN(const ValueId y, to.node(node.op->name, {rewrite.map(node.inputs[0]), stored, first},
                                       std::move(attributes), node.layer));
    return std::optional(y);
}

constexpr FilterForm filter_form{.is = is_filter, .read = read_filter, .write = write_filter, .any = true};

// A kernel that is expanded when the model is opened (taps.cc).
bool absorb_producer(const Node &, size_t input, const Node &producer) {
    return input == 1 && producer.op->rewrites.prepared;
}

#define LW_ALGORITHM(name) &compiler::convolution::name,
constexpr const Algorithm *algorithms[] = {
#include "compiler/ops/long_conv/algorithms.inc"
};
#undef LW_ALGORITHM

} // namespace

const OpDef op_long_conv{
    .name = "long_conv",
    .attributes = {{"channels", AttributeDef::Kind::integer},
                   {"two_sided", AttributeDef::Kind::integer},
                   {"ahead", AttributeDef::Kind::integer, false},
                   stored_weights},
    .infer = infer,
    .stream = stream,
    .reach = reach,
    .end = EndRule::clear, // only the two-sided kernel reads rows after the end
    .begins_late = true,
    .absorb_producer = absorb_producer,
    .channel_tiles = true,
    .algorithms = algorithms,
    .streamed = streamed,
    .rewrites = {.round_taps = round_taps, .filter = &filter_form},
    .reference = reference,
};

const OpDef op_late_long_conv{
    .name = "late_long_conv",
    .attributes = op_long_conv.attributes,
    .infer = infer_late,
    .stream = stream_late,
    .begins_late = true,
    .of_passes = true,
    .channel_tiles = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
