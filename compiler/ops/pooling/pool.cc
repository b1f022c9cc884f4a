// pool: the largest or the mean value of a window over time and frequency, per channel. Row m of
// the result reads `time` rows of x, of which the newest is row stride_t·m + stride_t − 1 − lag.
// What lies before the first row or outside the frequencies has no value: a maximum leaves it out.
// A mean counts it as zero or leaves it out.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/pooling.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

constexpr uint32_t longest = 1 << 16;

struct Window {
    int64_t time, frequency, stride_t, stride_f, pad_f, lag;
    explicit Window(const Node &node)
        : time(node.integer("time")), frequency(node.integer("frequency")),
          stride_t(node.integer("stride_t")), stride_f(node.integer("stride_f")),
          pad_f(node.integer("pad_f")), lag(node.integer("lag")) {}
    int64_t history() const { return std::max<int64_t>(0, time + lag - stride_t); }
};

struct Image {
    uint32_t frequencies, channels;
};

Image image(const Type &x) { return x.dims.size() == 2 ? Image{x.dims[0], x.dims[1]} : Image{1, x.dims[0]}; }

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    if (in[0].dims.size() != 2) LW_TRY(rules::rank(in[0], 1));
    const std::string &mode = node.text("mode");
    if (mode != "max" && mode != "mean")
        return Status::input("attribute mode expected max or mean, found \"" + mode + "\"");
    LW_TRY(rules::flag(node, "count_outside").status());
    LW_TRY(rules::integer(node, "time", 1, longest).status());
    LW_ASSIGN(const uint32_t stride_t, rules::integer(node, "stride_t", 1, longest));
    LW_ASSIGN(const uint32_t kf, rules::integer(node, "frequency", 1, 4096));
    LW_ASSIGN(const uint32_t stride_f, rules::integer(node, "stride_f", 1, 4096));
    LW_ASSIGN(const uint32_t pad_f, rules::integer(node, "pad_f", 0, kf / 2));
    LW_TRY(rules::integer(node, "lag", 0, stride_t - 1).status());
    const auto [frequencies, channels] = image(in[0]);
    if (frequencies + 2 * pad_f < kf)
        return Status::input(fmt::format("a window of {} frequencies does not fit {} with {} at both ends",
                                         kf, frequencies, pad_f));
    const uint32_t bands = (frequencies + 2 * pad_f - kf) / stride_f + 1;
    Type type = in[0];
    type.dims = in[0].dims.size() == 1 ? in[0].dims : std::vector{bands, channels};
    if (bands == 1) type.dims = {channels};
    LW_ASSIGN(type.clock, rules::slower(in[0].clock, stride_t));
    return type;
}

// The rows that a window looks back on, and how many rows there were, where a window may begin
// before the first.
StreamRule stream(const Node &node, std::span<const Type>) {
    const auto rows = static_cast<uint32_t>(Window(node).history());
    StreamRule rule = history(rows);
    if (rows) rule.carries.push_back({"count", Elem::f64, {1}});
    return rule;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const Window w(node);
    const auto [frequencies, channels] = image(context.types[0]);
    const bool largest = node.text("mode") == "max", all = node.integer("count_outside") != 0;
    for (size_t m = 0; m < out.rows; ++m)
        for (size_t i = 0; i < out.width; ++i) {
            double sum = 0, top = -INFINITY;
            int64_t inside = 0;
            for (int64_t a = 0; a < w.time; ++a)
                for (int64_t b = 0; b < w.frequency; ++b) {
                    const int64_t t = static_cast<int64_t>(m + 1) * w.stride_t - w.lag - w.time + a,
                                  f = static_cast<int64_t>(i / channels) * w.stride_f - w.pad_f + b;
                    if (t < 0 || f < 0 || f >= frequencies) continue;
                    const double x =
                        in[0]->row(static_cast<size_t>(t))[static_cast<size_t>(f) * channels + i % channels];
                    top = std::max(top, x), sum += x, ++inside;
                }
            out.row(m)[i] = largest ? top : sum / static_cast<double>(all ? w.time * w.frequency : inside);
        }
}

Status kernel(KernelCall &call) {
    const Window w(call.node);
    const auto [frequencies, channels] = image(call.type(0));
    if (frequencies > 1 && channels == 1)
        return Status::input("pooling over frequencies of one channel: give the image at least 2 channels");
    call.one_call();
    const Ring x = call.ring_of(0, static_cast<uint32_t>(w.stride_t));
    const Count count = w.history() ? call.count_of("count") : Count{};
    call.kernel<contract::Pool>({.mode = call.node.text("mode"),
                                 .channels = channels,
                                 .in_f = frequencies,
                                 .out_f = call.result().width() / channels,
                                 .rows = call.rows(),
                                 .time = call.node.integer("time"),
                                 .frequency = call.node.integer("frequency"),
                                 .stride_t = call.node.integer("stride_t"),
                                 .stride_f = call.node.integer("stride_f"),
                                 .pad_f = call.node.integer("pad_f"),
                                 .lag = call.node.integer("lag"),
                                 .count_outside = call.node.integer("count_outside") != 0,
                                 .ring = x.rows,
                                 .counts = count.counts},
                                {.x = x.place,
                                 .count_so_far = count.so_far,
                                 .position = x.position,
                                 .y = call.result_rows(),
                                 .count = count.state});
    return Status::ok();
}

} // namespace

const OpDef op_pool{
    .name = "pool",
    .attributes = {{"mode", AttributeDef::Kind::text},
                   {"time", AttributeDef::Kind::integer},
                   {"stride_t", AttributeDef::Kind::integer},
                   {"frequency", AttributeDef::Kind::integer},
                   {"stride_f", AttributeDef::Kind::integer},
                   {"pad_f", AttributeDef::Kind::integer},
                   {"lag", AttributeDef::Kind::integer},
                   {"count_outside", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
