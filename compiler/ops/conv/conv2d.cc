// conv2d: a convolution over time and frequency in the cross-correlation order of torch, with zeros
// outside. It is centred in frequency. In time its newest tap reads the row itself, or one `ahead`, and
// neighbouring taps are `dilation` rows apart.
// late_conv2d: the same in a stream. It hands each row on when the row ahead is there.
#include "compiler/base/parallel.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/conv/separate.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/linear/transformed_product.h"
#include "compiler/ops/support/filter.h"
#include "compiler/ops/support/late.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/conv.h"
#include <numeric>

namespace longwave::ir {
namespace {

struct Image {
    uint32_t frequencies, channels;
};

constexpr uint32_t most_ahead = 1 << 16, most_dilation = 1 << 16;
constexpr uint64_t longest_span = 1 << 24; // rows

uint32_t ahead_of(const Node &node) {
    return node.has("ahead") ? static_cast<uint32_t>(node.integer("ahead")) : 0;
}

// Rows from a tap to the next.
uint32_t dilation_of(const Node &node) {
    return node.has("dilation") ? static_cast<uint32_t>(node.integer("dilation")) : 1;
}

// Rows from the oldest tap to the newest, both included. `weight`: [out, in/groups, kt, kf].
uint32_t span_of(const Node &node, const std::vector<uint32_t> &weight) {
    return (weight[2] - 1) * dilation_of(node) + 1;
}

// A row without channels counts as frequencies × 1 channel, or as 1 frequency × channels (conv1d).
Image image(const Node &node, const Type &x) {
    if (x.dims.size() == 2) return {x.dims[0], x.dims[1]};
    return node.integer("frequency") ? Image{x.dims[0], 1} : Image{1, x.dims[0]};
}

// Over one frequency with a filter for each channel, or several of a single channel. `weight`: [out,
// in/groups, kt, kf].
bool is_filter_per_channel(const Node &node, const Type &x, const std::vector<uint32_t> &weight) {
    if (x.dims.size() != 1) return false;
    const uint32_t heads = x.dims[0];
    return (weight[0] == heads || heads == 1) && weight[1] == 1 && weight[3] == 1 &&
           node.integer("groups") == heads && node.integer("stride_t") == 1 && node.integer("stride_f") == 1;
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t bias, rules::flag(node, "bias"));
    LW_TRY(rules::flag(node, "frequency").status());
    LW_TRY(weight_format(node).status());
    LW_TRY(check_activation_steps(node));
    LW_TRY(rules::count(in, 2 + bias));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    if (in[0].dims.size() != 2) LW_TRY(rules::rank(in[0], 1));
    const auto [frequencies, channels] = image(node, in[0]);
    LW_ASSIGN(const uint32_t stride_t, rules::integer(node, "stride_t", 1, 1 << 20));
    LW_ASSIGN(const uint32_t stride_f, rules::integer(node, "stride_f", 1, 1 << 20));
    LW_ASSIGN(const uint32_t groups, rules::integer(node, "groups", 1, channels));
    if (channels % groups)
        return Status::input(fmt::format("{} channels do not divide into {} groups", channels, groups));
    if (node.has("ahead")) LW_TRY(rules::integer(node, "ahead", 0, most_ahead).status());
    if (node.has("dilation")) LW_TRY(rules::integer(node, "dilation", 1, most_dilation).status());
    LW_TRY(rules::operand(in[1], "weight", {0, channels / groups, 0, 0}));
    if (const uint64_t span = (uint64_t{in[1].dims[2]} - 1) * dilation_of(node) + 1; span > longest_span)
        return Status::input(
            fmt::format("a kernel of {} rows with its dilation, expected at most {}", span, longest_span));
    const uint32_t out = in[1].dims[0], kf = in[1].dims[3];
    if (out % groups)
        return Status::input(fmt::format("{} output channels do not divide into {} groups", out, groups));
    if (bias) LW_TRY(rules::operand(in[2], "bias", {out}));
    const uint64_t padded = uint64_t{frequencies} + 2 * ((uint64_t{kf} - 1) / 2);
    if (padded < kf)
        return Status::input(
            fmt::format("a kernel of {} frequencies does not fit {} padded ones", kf, padded));
    const auto bands = static_cast<uint32_t>((padded - kf) / stride_f + 1);
    Type type = in[0];
    type.dims = bands == 1 ? std::vector{out} : std::vector{bands, out};
    LW_ASSIGN(type.clock, rules::slower(in[0].clock, stride_t));
    type.causal = type.causal && ahead_of(node) == 0;
    return type;
}

// Rows before the first new one that the taps read, if the newest tap is so many rows ahead.
uint32_t history_of(const Node &node, std::span<const Type> in, uint32_t ahead) {
    const int64_t rows = int64_t{span_of(node, in[1].dims)} - node.integer("stride_t") - ahead;
    return rows > 0 ? static_cast<uint32_t>(rows) : 0;
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    const uint32_t ahead = ahead_of(node);
    StreamRule rule = history(history_of(node, in, ahead));
    rule.ahead = ahead;
    if (ahead) rule.looks_ahead = fmt::format("its newest tap reads {} rows after its own", ahead);
    return rule;
}

uint32_t reach(const Node &node, std::span<const Type> in) {
    return std::max(history_of(node, in, ahead_of(node)), ahead_of(node));
}

// Rows come when the row ahead is there, so every tap reads a row of the past.
Expected<Type> infer_late(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(Type type, infer(node, in));
    type.delay = in[0].delay + ticks_of_rows(ahead_of(node), in[0].clock);
    return type;
}

StreamRule stream_late(const Node &node, std::span<const Type> in) {
    return {.history = history_of(node, in, 0), .ahead = ahead_of(node)};
}

Expected<ValueId> streamed(Rewriter &rewrite, const Node &node) {
    if (!ahead_of(node)) return rewrite.keep(node);
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(rewrite.map(id));
    LW_ASSIGN(const uint32_t ahead, reach_whole_ticks(rewrite.to(), inputs, ahead_of(node)));
    Attributes attributes = node.attributes;
    attributes["ahead"] = int64_t{ahead};
    return rewrite.to().node(op_late_conv2d.name, std::move(inputs), attributes, node.layer);
}

// Over one frequency with so many taps that the loops of the definition would take minutes.
constexpr uint32_t many_taps = 64;

bool is_long_filter(const Node &node, const Type &x, const std::vector<uint32_t> &weight) {
    return x.dims.size() == 1 && !node.integer("frequency") && weight[3] == 1 && weight[2] >= many_taps &&
           ahead_of(node) < span_of(node, weight) && node.integer("stride_t") == 1 &&
           node.integer("stride_f") == 1;
}

// `taps` numbers from `first` on, with zeros between them for the dilation: the newest row last.
std::vector<double> spread(const Numbers &weights, size_t first, size_t taps, size_t dilation) {
    std::vector<double> rows((taps - 1) * dilation + 1);
    for (size_t i = 0; i < taps; ++i) rows[i * dilation] = weights[first + i];
    return rows;
}

void reference_of_filter(const Node &node, std::span<const Operand *const> in,
                         const ReferenceContext &context, Array &out) {
    const std::vector<uint32_t> &w = context.types[1].dims; // [out, in/groups, taps, 1]
    const size_t taps = w[2], ahead = ahead_of(node), dilation = dilation_of(node),
                 of_group = w[0] / static_cast<size_t>(node.integer("groups"));
    in_parts(out.width, context.workers, [&](size_t begin, size_t end) {
        for (size_t o = begin; o < end; ++o) {
            std::vector<double> sum(in[0]->rows, node.integer("bias") ? in[2]->data[o] : 0.0);
            for (size_t c = 0; c < w[1]; ++c) {
                const std::vector<double> k = spread(in[1]->data, (o * w[1] + c) * taps, taps, dilation);
                const auto newest = k.rbegin() + static_cast<ptrdiff_t>(ahead);
                std::vector<double> x(in[0]->rows);
                for (size_t t = 0; t < x.size(); ++t) x[t] = in[0]->row(t)[o / of_group * w[1] + c];
                const std::vector<double> y = filtered(x, {newest, k.rend()}, {newest.base(), k.end()});
                for (size_t t = 0; t < out.rows; ++t) sum[t] += y[t];
            }
            for (size_t t = 0; t < out.rows; ++t) out.row(t)[o] = sum[t];
        }
    });
}

// [in/groups][kt][kf][out]: the weights that one number of the input meets stand together.
std::vector<double> by_input(const Numbers &weights, const std::vector<uint32_t> &dims) {
    const size_t out = dims[0], of_one = size_t{dims[1]} * dims[2] * dims[3];
    std::vector<double> result(out * of_one);
    for (size_t o = 0; o < out; ++o)
        for (size_t i = 0; i < of_one; ++i) result[i * out + o] = weights[o * of_one + i];
    return result;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const std::vector<uint32_t> &w = context.types[1].dims; // [out, in/groups, kt, kf]
    if (is_long_filter(node, context.types[0], w)) return reference_of_filter(node, in, context, out);
    const Image x_image = image(node, context.types[0]); // clang 14 captures no structured bindings
    const size_t of_group = w[0] / static_cast<size_t>(node.integer("groups")), bands = out.width / w[0];
    const int64_t rows = static_cast<int64_t>(in[0]->rows), stride_t = node.integer("stride_t"),
                  stride_f = node.integer("stride_f"), dilation = dilation_of(node), pad = (w[3] - 1) / 2,
                  oldest = stride_t - span_of(node, w) + ahead_of(node); // of row 0
    const std::vector<double> weights = by_input(in[1]->data, w);
    std::vector<double> bias(w[0]);
    for (size_t o = 0; node.integer("bias") && o < w[0]; ++o) bias[o] = in[2]->data[o];
    // `weight`: of the number x[t][f][c], for each output of the group
    const auto add = [&](double *sum, const double *weight, int64_t t, int64_t f, size_t c) {
        if (t < 0 || t >= rows || f < 0 || f >= x_image.frequencies) return;
        const double x = in[0]->row(static_cast<size_t>(t))[static_cast<size_t>(f) * x_image.channels + c];
        for (size_t o = 0; o < of_group; ++o) sum[o] += weight[o] * x;
    };
    in_parts(out.rows, context.workers, [&](size_t begin, size_t end) {
        for (size_t m = begin; m < end; ++m)
            for (size_t band = 0; band < bands; ++band) {
                double *const sums = out.row(m) + band * w[0];
                std::copy(bias.begin(), bias.end(), sums);
                for (size_t first = 0, group = 0; first < w[0]; first += of_group, ++group)
                    for (size_t i = 0; i < size_t{w[1]} * w[2] * w[3]; ++i) {
                        const auto a = static_cast<int64_t>(i / w[3] % w[2]),
                                   b = static_cast<int64_t>(i % w[3]);
                        add(sums + first, &weights[i * w[0] + first],
                            static_cast<int64_t>(m) * stride_t + oldest + a * dilation,
                            static_cast<int64_t>(band) * stride_f - pad + b,
                            group * w[1] + i / (w[2] * w[3]));
                    }
            }
    });
}

// Each weight meets a number of every band. Long filters go through transforms.
double work(const Node &node, std::span<const Type> in, const Type &result) {
    const std::vector<uint32_t> &w = in[1].dims;
    const uint32_t taps = is_long_filter(node, in[0], w) ? std::min(w[2], 512u) : w[2] * w[3];
    return static_cast<double>(result.width()) * w[1] * taps;
}

// Weights [out, in/groups, kt, kf] without those zeros that stand between all taps: a larger dilation.
class Taps {
public:
    Taps(const Numbers &w, std::vector<uint32_t> dims) : w_(w.to_vector()), dims_(std::move(dims)) {
        for (size_t n = 0; n < w_.size(); ++n) {
            const auto lag = static_cast<uint32_t>(dims_[2] - 1 - n / dims_[3] % dims_[2]);
            if (w_[n] != 0) step_ = std::gcd(step_, lag);
        }
        step_ = std::max(step_, 1u);
    }
    uint32_t step() const { return step_; }                       // from a tap in use to the next
    uint32_t count() const { return (dims_[2] - 1) / step_ + 1; } // in time

    // [count][kf][in/groups][out]: channels innermost, the newest row last.
    std::vector<float> packed(uint32_t stride) const {
        const size_t out = dims_[0], in = dims_[1], times = dims_[2], frequencies = dims_[3];
        std::vector<float> result(count() * frequencies * in * stride, 0.f);
        for (size_t o = 0; o < out; ++o)
            for (size_t i = 0; i < in; ++i)
                for (size_t t = 0; t < count(); ++t)
                    for (size_t f = 0; f < frequencies; ++f) {
                        const size_t from = times - 1 - (count() - 1 - t) * step_;
                        result[((t * frequencies + f) * in + i) * stride + o] =
                            static_cast<float>(w_[((o * in + i) * times + from) * frequencies + f]);
                    }
        return result;
    }

private:
    std::vector<double> w_;
    std::vector<uint32_t> dims_;
    uint32_t step_ = 0;
};

// One frequency of one row of the input for each of the output: products with one matrix.
bool is_pointwise(const Graph &graph, const Node &node) {
    const std::vector<uint32_t> &w = graph.type(node.inputs[1]).dims; // [out, in/groups, kt, kf]
    return w[2] == 1 && w[3] == 1 && node.integer("stride_t") == 1 && node.integer("groups") == 1 &&
           ahead_of(node) == 0;
}

bool is_product(const Graph &graph, const Node &node) {
    return image(node, graph.type(node.inputs[0])).frequencies == 1 && is_pointwise(graph, node);
}

// Several frames of samples in a row, and a transform of each.
std::optional<FourierMatrix> transform_of(const KernelCall &call) {
    const bool each = call.type(0).dims.size() == 2 && call.node.integer("stride_f") == 1;
    return each && is_pointwise(call.graph(), call.node) ? transform_for(call) : std::nullopt;
}

// A matrix of a few outputs, which fill a quarter of a panel. The kernel of convolutions computes only the
// lanes in use, for tiles of rows (schedules/conv/conv2d.cc).
bool is_small_product(const KernelCall &call) {
    constexpr uint32_t most_outputs = 4, most_inputs = 16, least_rows = 8;
    const uint32_t in = call.type(0).width(), out = call.type(1).dims[0];
    return out > 1 && out <= most_outputs && in > 1 && in <= most_inputs && call.rows() >= least_rows &&
           !call.consumer() && !call.node.has(stored_weights.name) &&
           call.context.device.has_any_of(devices::cpu_kernels);
}

// Few channels over one frequency: a vector of rows is full where one of channels is not.
bool is_narrow(const Graph &graph, const Node &node) {
    const Type &x = graph.type(node.inputs[0]);
    const std::vector<uint32_t> &w = graph.type(node.inputs[1]).dims; // [out, in/groups, kt, kf]
    constexpr uint32_t most = contract::NarrowConv::most_channels;
    return image(node, x).frequencies == 1 && x.dims.size() == 1 && x.elem == Elem::f32 && w[3] == 1 &&
           node.integer("stride_t") == 1 && node.integer("stride_f") == 1 && node.integer("groups") == 1 &&
           ahead_of(node) == 0 && w[0] <= most && w[1] <= most && !node.has(stored_weights.name);
}

// It also has a kernel that keeps older rows. What few taps reach far back are a dilation.
bool keeps_channels(const Graph &graph, const Node &node) {
    if (!is_narrow(graph, node) || !constants_from(graph, node, 1)) return false;
    const Taps taps(graph.constant(node.inputs[1])->data, graph.type(node.inputs[1]).dims);
    return taps.count() > 1 && taps.count() <= contract::NarrowConv::most_taps &&
           taps.step() * uint64_t{dilation_of(node)} <= most_dilation;
}

// [taps][in][out], the newest tap last.
Status narrow(KernelCall &call, const std::optional<ChannelHistory> &past) {
    const std::vector<uint32_t> &w = call.type(1).dims;
    const uint32_t out = w[0];
    const Taps taps(call.constant(1), w);
    contract::NarrowConv params{.taps = taps.count(),
                                .in_c = w[1],
                                .out_c = out,
                                .rows = call.rows(),
                                .bias = call.node.integer("bias") != 0};
    contract::NarrowConv::Arguments<Given> arguments{
        .x = call.rows_of(0), .w = call.packed("weight", taps.packed(out)), .y = call.result_rows()};
    if (params.bias) arguments.bias = call.packed("bias", Taps(call.constant(2), {out, 1, 1, 1}).packed(out));
    if (past) {
        params.dilation = taps.step() * dilation_of(call.node);
        params.ring = past->ring;
        params.again = past->again;
        arguments.position = past->position;
        arguments.past = past->place;
    }
    call.kernel(params, arguments);
    return Status::ok();
}

// A product with a small matrix between values that lie channel by channel.
bool is_narrow_product(const KernelCall &call) {
    constexpr uint32_t least_rows = contract::NarrowConv::least_rows;
    return call.context.streaming && call.context.device.keeps_channels &&
           is_narrow(call.graph(), call.node) && is_product(call.graph(), call.node) &&
           call.rows() >= least_rows && !call.consumer() && call.may_lie_by_channel();
}

Status kernel(KernelCall &call) {
    if (const std::optional<ChannelHistory> past = call.channels_of_past()) return narrow(call, past);
    if (is_narrow_product(call)) return narrow(call, std::nullopt);
    if (is_product(call.graph(), call.node) && !is_small_product(call)) return product(call);
    if (std::optional<FourierMatrix> matrix = transform_of(call)) return transform(call, *std::move(matrix));
    const Type &x = call.type(0);
    const std::vector<uint32_t> &w = call.type(1).dims;
    const auto groups = static_cast<uint32_t>(call.node.integer("groups")),
               stride_t = static_cast<uint32_t>(call.node.integer("stride_t"));
    const bool bias = call.node.integer("bias") != 0;
    const uint32_t in_f = x.dims.size() == 2 || call.node.integer("frequency") ? x.dims[0] : 1,
                   in_c = x.width() / in_f;
    const uint32_t out_c = w[0], out_f = call.result().width() / out_c, stride = schedules::pad(out_c);
    if (out_c == 1 && out_f > 1)
        return Status::input("a 2-D convolution to one channel: give it at least 2 output channels");
    const Taps taps(call.constant(1), w);
    const Ring ring = call.ring_of(0, stride_t, call.context.streaming ? 0 : ahead_of(call.node));
    if (call.rows() == 1) call.serves_streams();
    call.kernel<contract::Conv2d>(
        {.time = taps.count(),
         .frequency = w[3],
         .stride_t = stride_t,
         .stride_f = call.node.integer("stride_f"),
         .dilation_t = taps.step() * dilation_of(call.node),
         .pad_f = (w[3] - 1) / 2,
         .in_f = in_f,
         .in_c = in_c,
         .out_f = out_f,
         .out_c = out_c,
         .groups = groups,
         .rows = call.rows(),
         .ring = ring.rows,
         .in_row = x.row(),
         .bias = bias},
        {.x = ring.place,
         .w = call.packed("weight", taps.packed(stride)),
         .bias = bias ? Given::Weight(
                            call.packed("bias", Taps(call.constant(2), {out_c, 1, 1, 1}).packed(stride)))
                      : Given::Weight(),
         .position = ring.position,
         .y = call.result_rows()});
    return Status::ok();
}

// In torch order, so lag j of n rows has weight W[n − 1 − ahead − j]. The rows between dilated taps count.
bool is_filter(const Graph &graph, const Node &node) {
    const std::vector<uint32_t> &w = graph.type(node.inputs[1]).dims;
    return ahead_of(node) < span_of(node, w) && is_filter_per_channel(node, graph.type(node.inputs[0]), w);
}

std::optional<Filter> read_filter(const Graph &graph, const Node &node) {
    if (!constants_from(graph, node, 1)) return {};
    const Numbers &w = graph.constant(node.inputs[1])->data;
    const auto &dims = graph.type(node.inputs[1]).dims;
    const uint32_t heads = graph.type(node.inputs[0]).dims[0];
    Filter filter = Filter::identity(heads, dims[0] / heads);
    filter.two_sided = ahead_of(node) > 0;
    for (size_t n = 0; n < dims[0]; ++n) {
        const std::vector<double> rows = spread(w, n * dims[2], dims[2], dilation_of(node));
        const auto newest = rows.end() - ahead_of(node); // one behind it
        filter.taps[n].assign(std::make_reverse_iterator(newest), rows.rend());
        filter.ahead[n].assign(newest, rows.end());
        if (node.integer("bias")) filter.bias[n] = graph.constant(node.inputs[2])->data[n];
    }
    return filter;
}

Expected<ValueId> write_filter(Rewriter &rewrite, const Graph &, ValueId x, const Filter &filter,
                               const std::string &layer) {
    const auto rows = static_cast<uint32_t>(filter.rows()),
               ahead = static_cast<uint32_t>(filter.known_ahead()),
               length = static_cast<uint32_t>(filter.known_taps()) + ahead;
    std::vector<double> weight;
    for (size_t n = 0; n < rows; ++n) {
        weight.insert(weight.end(), filter.taps[n].rbegin(), filter.taps[n].rend());
        weight.insert(weight.end(), filter.ahead[n].begin(), filter.ahead[n].end());
    }
    Builder &to = rewrite.to();
    std::vector<ValueId> inputs{
        x, to.constant(layer + ".weight.merged", {rows, 1, length, 1}, std::move(weight))};
    if (filter.biased()) inputs.push_back(to.constant(layer + ".bias.merged", {rows}, filter.bias));
    Attributes attributes{{"stride_t", int64_t{1}},
                          {"stride_f", int64_t{1}},
                          {"groups", static_cast<int64_t>(filter.heads)},
                          {"bias", int64_t{filter.biased()}},
                          {"frequency", int64_t{0}}};
    if (ahead) attributes["ahead"] = int64_t{ahead};
    return to.node(op_conv2d.name, std::move(inputs), attributes, layer);
}

constexpr FilterForm filter_form{.is = is_filter, .read = read_filter, .write = write_filter};

} // namespace

const OpDef op_conv2d{
    .name = "conv2d",
    .attributes = {{"stride_t", AttributeDef::Kind::integer},
                   {"stride_f", AttributeDef::Kind::integer},
                   {"groups", AttributeDef::Kind::integer},
                   {"bias", AttributeDef::Kind::integer},
                   {"frequency", AttributeDef::Kind::integer},
                   {"ahead", AttributeDef::Kind::integer, false},
                   {"dilation", AttributeDef::Kind::integer, false},
                   stored_weights,
                   activation_steps},
    .infer = infer,
    .stream = stream,
    .reach = reach,
    .end = EndRule::clear, // only taps ahead read rows after the end
    .begins_late = true,
    .keeps_channels = keeps_channels,
    .kernel = kernel,
    .streamed = streamed,
    .rewrites = {.fold_result = fold_result_into_weights,
                 .is_product = is_product,
                 .filter = &filter_form,
                 .separate = separate},
    .reference = reference,
    .work = work,
};

const OpDef op_late_conv2d{
    .name = "late_conv2d",
    .attributes = {{"stride_t", AttributeDef::Kind::integer},
                   {"stride_f", AttributeDef::Kind::integer},
                   {"groups", AttributeDef::Kind::integer},
                   {"bias", AttributeDef::Kind::integer},
                   {"frequency", AttributeDef::Kind::integer},
                   {"ahead", AttributeDef::Kind::integer},
                   {"dilation", AttributeDef::Kind::integer, false}},
    .infer = infer_late,
    .stream = stream_late,
    .begins_late = true,
    .of_passes = true,
    .kernel = kernel,
    .reference = reference,
    .work = work,
};

} // namespace longwave::ir
