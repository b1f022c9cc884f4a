// group_norm: each group of channels minus its mean, over its standard deviation, over all rows of
// the sequence and all frequencies: (x − mean) / sqrt(var + eps) · weight + bias. With a group per
// channel it is an instance norm. A norm over the features of one row is layer_norm.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/norms.h"
#include <cmath>

namespace longwave::ir {
namespace {

uint32_t channels_of(const Type &x) { return x.dims.back(); }

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    if (in[0].dims.size() != 2) LW_TRY(rules::rank(in[0], 1));
    const uint32_t channels = channels_of(in[0]);
    LW_ASSIGN(const uint32_t groups, rules::integer(node, "groups", 1, channels));
    if (channels % groups)
        return Status::input(fmt::format("{} channels do not divide into {} groups", channels, groups));
    if (!(node.number("eps") >= 0))
        return Status::input(fmt::format("attribute eps expected at least 0, found {}", node.number("eps")));
    LW_TRY(rules::operand(in[1], "weight", {channels}));
    LW_TRY(rules::operand(in[2], "bias", {channels}));
    Type type = in[0];
    type.causal = false;
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) {
    return looks_ahead("its statistics go over the whole sequence");
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const size_t channels = in[1]->width, groups = static_cast<size_t>(node.integer("groups")),
                 of_group = channels / groups;
    const auto n = static_cast<double>(out.rows * out.width / groups);
    for (size_t g = 0; g < groups; ++g) {
        const auto each = [&](auto &&use) {
            for (size_t t = 0; t < out.rows; ++t)
                for (size_t i = 0; i < out.width; ++i)
                    if (i % channels / of_group == g) use(t, i, in[0]->row(t)[i]);
        };
        double mean = 0, var = 0;
        each([&](size_t, size_t, double x) { mean += x / n; });
        each([&](size_t, size_t, double x) { var += (x - mean) * (x - mean) / n; });
        each([&](size_t t, size_t i, double x) {
            out.row(t)[i] = (x - mean) / std::sqrt(var + node.number("eps")) * in[1]->data[i % channels] +
                            in[2]->data[i % channels];
        });
    }
}

Status kernel(KernelCall &call) {
    const uint32_t channels = channels_of(call.type(0)), frequencies = call.type(0).width() / channels;
    if (frequencies > 1 && channels == 1)
        return Status::input(
            "a group norm over frequencies of one channel: give the image at least 2 channels");
    call.one_call();
    const Type row{.elem = Elem::f32, .dims = {channels}, .clock = {}, .causal = true, .delay = 0};
    call.kernel<contract::GroupNorm>({.channels = channels,
                                      .frequencies = frequencies,
                                      .groups = call.node.integer("groups"),
                                      .rows = call.rows(),
                                      .eps = call.node.number("eps")},
                                     {.x = call.rows_of(0),
                                      .weight = call.packed("norm.weight", row.packed(call.constant(1))),
                                      .bias = call.packed("norm.bias", row.packed(call.constant(2))),
                                      .length = call.length_of(0),
                                      .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_group_norm{
    .name = "group_norm",
    .attributes = {{"groups", AttributeDef::Kind::integer}, {"eps", AttributeDef::Kind::number}},
    .infer = infer,
    .stream = stream,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
