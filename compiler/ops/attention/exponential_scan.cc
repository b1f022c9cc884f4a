// exponential_scan: y_t = Σ_r c_r Σ_{τ ≤ t} λ_r^{t−τ} x_τ per channel, a sum of e decaying sums
// (TPE of LightNet). It runs over all rows so far, or along one axis of an image whose rows come
// line by line: each line starts from zero.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/attention/positions.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/positions.h"

namespace longwave::ir {
namespace {

struct Axis {
    uint32_t stride = 1, length = 0; // rows from one position to the next; positions, 0: without end
};

Expected<Axis> axis_of(const Node &node) {
    LW_ASSIGN(const std::vector<uint32_t> axes, axes_of(node.has("shape") ? node.text("shape") : ""));
    if (axes.empty()) return Axis{};
    LW_ASSIGN(const uint32_t axis, rules::integer(node, "axis", 0, static_cast<uint32_t>(axes.size()) - 1));
    return Axis{stride_of(axes, axis), axes[axis]};
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_TRY(axis_of(node).status());
    LW_TRY(rules::operand(in[1], "lambda", {in[0].dims[0], 0}));
    LW_TRY(rules::operand(in[2], "c", in[1].dims));
    return in[0];
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    const Axis axis = *axis_of(node);
    const uint32_t modes = in[1].dims[1], width = schedules::pad(in[0].dims[0]);
    StreamRule rule{.carries = {{"sums", Elem::f64, {modes, width}}}};
    if (axis.stride > 1) rule.carries[0].dims.insert(rule.carries[0].dims.begin(), axis.stride);
    if (axis.length) rule.carries.push_back({"position", Elem::f64, {1}});
    return rule;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const Axis axis = *axis_of(node);
    const size_t modes = in[1]->width / out.width;
    for (size_t i = 0; i < out.width; ++i)
        for (size_t m = 0; m < modes; ++m) {
            const double lambda = in[1]->data[i * modes + m], c = in[2]->data[i * modes + m];
            std::vector<double> sums(axis.stride, 0.0);
            for (size_t t = 0; t < out.rows; ++t) {
                double &sum = sums[t % axis.stride];
                const bool first = axis.length && t / axis.stride % axis.length == 0;
                sum = (first ? 0 : lambda * sum) + in[0]->row(t)[i];
                out.row(t)[i] += c * sum;
            }
        }
}

// [modes][padded channels] of a constant [channels][modes].
Packed packed(const Numbers &values, uint32_t channels, uint32_t modes) {
    const uint32_t width = schedules::pad(channels);
    std::vector<double> out(size_t{modes} * width, 0.0);
    for (size_t i = 0; i < channels; ++i)
        for (size_t m = 0; m < modes; ++m) out[m * width + i] = values[i * modes + m];
    return Packed::f64({modes, width}, out);
}

Status kernel(KernelCall &call) {
    const Axis axis = *axis_of(call.node);
    const uint32_t channels = call.type(0).dims[0], modes = call.type(1).dims[1];
    uint32_t rows = call.all_rows();
    if (axis.stride == 1 || !call.context.device.tiles) {
        call.one_call();
    } else { // a call meets each of the lines that lie side by side at most once
        rows = std::min(rows, axis.stride);
        while (call.all_rows() % rows) --rows;
        call.ordered_tiles(rows);
    }
    const Place lambda = call.packed("lambda", packed(call.constant(1), channels, modes)),
                c = call.packed("c", packed(call.constant(2), channels, modes)), sums = call.state("sums");
    const Count count = axis.length ? call.count_of("position") : Count{};
    call.kernel<contract::ExponentialScan>({.channels = channels,
                                            .modes = modes,
                                            .rows = rows,
                                            .stride = axis.stride,
                                            .length = axis.length,
                                            .counts = count.counts},
                                           {.x = call.rows_of(0),
                                            .count_so_far = count.so_far,
                                            .lambda = lambda,
                                            .c = c,
                                            .y = call.result_rows(),
                                            .sums = sums,
                                            .count = count.state});
    return Status::ok();
}

} // namespace

const OpDef op_exponential_scan{
    .name = "exponential_scan",
    .attributes = {{"shape", AttributeDef::Kind::text, false}, {"axis", AttributeDef::Kind::integer, false}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
