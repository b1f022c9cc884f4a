// batch_norm at inference: (x − mean) / √(var + eps) · weight + bias per channel.
#include "compiler/ops/support/rules.h"
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 5));
    LW_TRY(rules::real(in[0]));
    if (node.number("eps") < 0)
        return Status::input(fmt::format("attribute eps expected 0 or more, found {}", node.number("eps")));
    const uint32_t width = in[0].width(), channels = in[0].dims.empty() ? 1 : in[0].dims.back();
    const bool whole = in[1].width() == width;
    const char *names[] = {"weight", "bias", "running_mean", "running_var"};
    for (size_t i = 0; i < 4; ++i) LW_TRY(rules::vector(in[i + 1], names[i], whole ? width : channels));
    return in[0];
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto &weight = in[1]->data, &bias = in[2]->data, &mean = in[3]->data, &var = in[4]->data;
    const double eps = node.number("eps");
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t i = 0; i < out.width; ++i) {
            const size_t c = i % weight.size();
            out.row(t)[i] = (in[0]->row(t)[i] - mean[c]) / std::sqrt(var[c] + eps) * weight[c] + bias[c];
        }
}

Expected<ChannelMap> channel_map(const Graph &graph, const Node &node) {
    const auto data = [&](size_t input) -> const Numbers & {
        return graph.constant(node.inputs[input])->data;
    };
    const Numbers &weight = data(1), &bias = data(2), &mean = data(3), &var = data(4);
    ChannelMap map;
    for (size_t c = 0; c < weight.size(); ++c) {
        const double variance = var[c] + node.number("eps");
        if (!(variance > 0) || !std::isfinite(variance))
            return Status::input(
                fmt::format("layer {}: batch_norm: running_var[{}] + eps expected above zero, found {}",
                            node.layer, c, variance));
        map.scale.push_back(weight[c] / std::sqrt(variance));
        map.shift.push_back(bias[c] - mean[c] * map.scale[c]);
    }
    return map;
}

} // namespace

const OpDef op_batch_norm{
    .name = "batch_norm",
    .attributes = {{"eps", AttributeDef::Kind::number}},
    .infer = infer,
    .stream = row_by_row,
    .rewrites = {.channel_map = channel_map},
    .reference = reference,
};

} // namespace longwave::ir
