// softmax_attention: o_t = Σ_τ softmax_τ(q_t·k_τ / √dk)·v_τ per head (Vaswani et al. 2017). τ runs
// over a window of rows up to t, over all rows up to t, or over the full sequence.
//
// Keys and values come in one row, [keys | values | 1]. The last feature says that the row exists.
// The history of a stream begins with zeros, and rows after the end of a sequence are cleared:
// neither counts as a key. Heads may share keys and values: head h reads those of h / (heads /
// key_heads) (Ainslie et al. 2023). With constants r, u and v (Transformer-XL, §3.3) the score is (q +
// u)·k_τ + (q + v)·r_{t−τ}.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/attention.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

constexpr AttributeDef key_heads{"key_heads", AttributeDef::Kind::integer, false}; // absent: heads

struct Shape {
    uint32_t heads, key_heads, dk, dv, window; // window: 0 for all rows
    bool causal, relative;

    Shape(const Node &node, const Type &kv, const Type &q)
        : heads(static_cast<uint32_t>(node.integer("heads"))),
          key_heads(node.has(ir::key_heads.name) ? static_cast<uint32_t>(node.integer(ir::key_heads.name))
                                                 : heads),
          dk(q.dims[0] / heads), dv((kv.dims[0] - 1) / key_heads - dk),
          window(static_cast<uint32_t>(node.integer("window"))), causal(node.integer("causal") == 1),
          relative(node.inputs.size() == 5) {}

    size_t key_head(size_t head) const { return head / (heads / key_heads); }
};

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    const bool relative = in.size() == 5;
    LW_TRY(rules::count(in, relative ? 5 : 2));
    LW_ASSIGN(const uint32_t heads, rules::integer(node, "heads", 1, 1 << 12));
    uint32_t groups = heads;
    if (node.has(key_heads.name)) {
        LW_ASSIGN(groups, rules::integer(node, key_heads.name, 1, 1 << 12));
        if (heads % groups)
            return Status::input(
                fmt::format("attribute key_heads expected a divisor of {} heads, found {}", heads, groups));
    }
    LW_ASSIGN(const uint32_t window, rules::integer(node, "window", 0, 1 << 20));
    LW_ASSIGN(const uint32_t causal, rules::flag(node, "causal"));
    for (const Type &type : in.first(2)) {
        LW_TRY(rules::real(type));
        LW_TRY(rules::timed(type));
        LW_TRY(rules::rank(type, 1));
    }
    const uint32_t kv = in[0].dims[0], q = in[1].dims[0];
    if (q % heads || kv % groups != 1 % groups || kv <= q / heads * groups + 1)
        return Status::input(
            groups == heads
                ? fmt::format("rows [keys | values | 1] and queries that divide into {} heads expected, "
                              "found widths {} and {}",
                              heads, kv, q)
                : fmt::format("rows [keys | values | 1] of {} heads and queries of {} expected, found "
                              "widths {} and {}",
                              groups, heads, kv, q));
    if (in[0].clock != in[1].clock) return Status::input("queries, keys and values expected at one rate");
    if ((window || relative) && !causal) return Status::input("a window and lags need a causal attention");
    if (relative && !window) return Status::input("lags need a window");
    if (relative) {
        LW_TRY(rules::operand(in[2], "r", {window, q}));
        for (size_t i : {3, 4}) LW_TRY(rules::vector(in[i], "bias of the queries", q));
    }
    Type type = in[1];
    type.dims[0] = heads * ((kv - 1) / groups - q / heads);
    type.causal = causal && in[0].causal && in[1].causal;
    type.delay = std::max(in[0].delay, in[1].delay);
    return type;
}

StreamRule stream(const Node &node, std::span<const Type>) {
    if (!node.integer("causal")) return looks_ahead("it attends to later rows (causal is false)");
    if (!node.integer("window"))
        return looks_ahead("it attends to every row before it, more than any state holds; give it a window");
    return history(static_cast<uint32_t>(node.integer("window")) - 1);
}

// Four sums beside each other: a window of thousands of keys costs more here than all else of a check.
template <class Term> double sum_of(size_t n, const Term &term) {
    double sums[4] = {};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t j = 0; j < 4; ++j) sums[j] += term(i + j);
    for (; i < n; ++i) sums[0] += term(i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double score(const Shape &s, std::span<const Operand *const> in, size_t t, size_t row, size_t head) {
    const double *q = in[1]->row(t) + head * s.dk, *k = in[0]->row(row) + s.key_head(head) * s.dk;
    const double scale = 1 / std::sqrt(s.dk);
    if (!s.relative) return scale * sum_of(s.dk, [&](size_t i) { return q[i] * k[i]; });
    const auto &content = in[3]->data, &position = in[4]->data, &lags = in[2]->data;
    const size_t of_head = head * s.dk, of_lag = (t - row) * s.heads * s.dk + of_head;
    return scale * sum_of(s.dk, [&](size_t i) {
               return (q[i] + content[of_head + i]) * k[i] +
                      (q[i] + position[of_head + i]) * lags[of_lag + i];
           });
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const Shape s(node, context.types[0], context.types[1]);
    std::vector<double> weights;
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t h = 0; h < s.heads; ++h) {
            const size_t first = s.window && t + 1 > s.window ? t + 1 - s.window : 0,
                         end = s.causal ? t + 1 : in[0]->rows;
            weights.clear();
            double top = -INFINITY, total = 0;
            for (size_t row = first; row < end; ++row) {
                weights.push_back(in[0]->row(row)[in[0]->width - 1] > 0.5 ? score(s, in, t, row, h)
                                                                          : -INFINITY);
                top = std::max(top, weights.back());
            }
            if (top == -INFINITY) continue;
            for (double &weight : weights) total += weight = std::exp(weight - top);
            double *const y = out.row(t) + h * s.dv;
            for (size_t row = first; row < end; ++row) {
                const double weight = weights[row - first] / total;
                const double *const v = in[0]->row(row) + size_t{s.key_heads} * s.dk + s.key_head(h) * s.dv;
                for (size_t i = 0; i < s.dv; ++i) y[i] += weight * v[i];
            }
        }
}

// Without a window, rows are as many as a golden vector has (compiler/artifact/golden.cc).
double work(const Node &node, std::span<const Type> in, const Type &) {
    const Shape s(node, in[0], in[1]);
    const double keys = s.window ? s.window : 256;
    return keys * s.heads * (s.dk + s.dv) * (s.relative ? 2 : 1);
}

// ---- the kernel ----

uint32_t window_of(const PlanContext &context) {
    const auto window = static_cast<uint32_t>(context.node.integer("window"));
    return context.streaming ? window : std::min(window ? window : context.rows, context.rows);
}

// True if the window covers the full sequence: the keys start at its first row, without zeros
// before it.
bool whole(const PlanContext &context) {
    return !context.streaming && context.node.integer("causal") && window_of(context) == context.rows &&
           schedules::attention_over_queries(context.rows);
}

// ns per output element and key on Sapphire Rapids: one product with the key and one with the
// value.
Estimate estimate(const PlanContext &context) { return {.cost = 0.1 * window_of(context)}; }
Reach reach(const PlanContext &context, const Decisions &) {
    return {.history = context.node.integer("causal") && !whole(context) ? window_of(context) - 1 : 0};
}

// As the kernel reads them: lags side by side for each feature where its lanes are queries.
Packed pack_lags(const Numbers &r, uint32_t heads, uint32_t dk, uint32_t window, bool over_queries) {
    const uint32_t margin = schedules::attention_margin, lags = window + 2 * margin;
    if (!over_queries) {
        std::vector<float> packed(r.begin(), r.end());
        return Packed::f32({window, heads, dk}, packed);
    }
    std::vector<float> packed(size_t{heads} * dk * lags, 0.0f);
    for (size_t lag = 0; lag < window; ++lag)
        for (size_t of = 0; of < size_t{heads} * dk; ++of)
            packed[of * lags + margin + lag] = static_cast<float>(r[lag * heads * dk + of]);
    return Packed::f32({heads, dk, lags}, packed);
}

// Where keys and values lie, and how many rows of them; with a window the position of the first query; of
// a ring the rows that have been written.
struct Keys {
    Place place;
    uint32_t rows;
    std::optional<Scalar> position, filled;
};
Keys keys_of(KernelCall &call) {
    const bool causal = call.node.integer("causal") == 1;
    if (causal && !whole(call.context)) {
        const Ring ring = call.ring_of(0);
        return {ring.place, ring.rows, ring.position, ring.filled};
    }
    Keys keys{call.all_rows_of(0), call.rows_of_input(0), {}, {}};
    if (causal)
        keys.position = Scalar{.kind = Scalar::Kind::slot, .tile_mul = static_cast<int32_t>(call.rows())};
    return keys;
}

Status plan(KernelCall &call) {
    const Shape s(call.node, call.type(0), call.type(1));
    const uint32_t window = s.causal ? window_of(call.context) : 0, rows = call.rows();
    const Keys keys = keys_of(call);
    Given::Weight r, content_bias, position_bias;
    if (s.relative) {
        const auto bias = [&](const char *name, size_t input) {
            const Numbers &numbers = call.constant(input);
            return call.packed(name, std::vector<float>(numbers.begin(), numbers.end()));
        };
        const bool over_queries = schedules::attention_over_queries(rows);
        r = call.packed(over_queries ? "lags" : "lags row by row",
                        pack_lags(call.constant(2), s.heads, s.dk, window, over_queries));
        content_bias = bias("content_bias", 3);
        position_bias = bias("position_bias", 4);
    }
    contract::SoftmaxAttention params{.heads = s.heads,
                                      .dk = s.dk,
                                      .dv = s.dv,
                                      .rows = rows,
                                      .window = window,
                                      .ring = keys.rows,
                                      .relative = s.relative,
                                      .whole = whole(call.context)};
    if (s.key_heads != s.heads) params.key_heads = s.key_heads;
    call.kernel<contract::SoftmaxAttention>(params, {.kv = keys.place,
                                                     .q = call.rows_of(1),
                                                     .r = r,
                                                     .content_bias = content_bias,
                                                     .position_bias = position_bias,
                                                     .position = keys.position,
                                                     .filled = keys.filled,
                                                     .y = call.result_rows()});
    return Status::ok();
}

const Algorithm tiles{
    .name = "tiles", .stream = devices::cpu_kernels, .estimate = estimate, .reach = reach, .plan = plan};
// A workgroup for each query and head.
const Algorithm queries{.name = "queries",
                        .offline = devices::gpu_kernels,
                        .stream = devices::gpu_kernels,
                        .estimate = estimate,
                        .reach = reach,
                        .plan = plan};
const Algorithm *const algorithms[] = {&tiles, &queries};

} // namespace

const OpDef op_softmax_attention{
    .name = "softmax_attention",
    .attributes = {{"heads", AttributeDef::Kind::integer},
                   {"window", AttributeDef::Kind::integer},
                   {"causal", AttributeDef::Kind::integer},
                   key_heads},
    .infer = infer,
    .stream = stream,
    .end = EndRule::clear,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
    .work = work,
};

} // namespace longwave::ir
