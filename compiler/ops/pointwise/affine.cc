// affine: x · scale + shift. Both have one value per element of a row, or per channel.
#include "compiler/ir/builder.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    const uint32_t width = in[0].width(), channels = in[0].dims.empty() ? 1 : in[0].dims.back();
    for (size_t i : {1, 2}) {
        const bool whole = in[i].width() == width;
        LW_TRY(rules::vector(in[i], i == 1 ? "scale" : "shift", whole ? width : channels));
    }
    return in[0];
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto &scale = in[1]->data, &shift = in[2]->data;
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t i = 0; i < out.width; ++i)
            out.row(t)[i] = in[0]->row(t)[i] * scale[i % scale.size()] + shift[i % shift.size()];
}

Expected<ChannelMap> channel_map(const Graph &graph, const Node &node) {
    ChannelMap map{graph.constant(node.inputs[1])->data.to_vector(),
                   graph.constant(node.inputs[2])->data.to_vector()};
    const size_t n = std::max(map.scale.size(), map.shift.size());
    for (auto *list : {&map.scale, &map.shift})
        for (size_t i = 0, given = list->size(); i + given < n; ++i)
            list->push_back(double{(*list)[i]}); // channels repeat along a row
    return map;
}

} // namespace

const OpDef op_affine{
    .name = "affine",
    .attributes = {},
    .infer = infer,
    .stream = row_by_row,
    .pointwise = Pointwise::with_channels,
    .rewrites = {.channel_map = channel_map},
    .reference = reference,
};

Expected<ValueId> make_channel_map(Builder &to, ValueId x, const ChannelMap &map, const std::string &layer) {
    const auto n = static_cast<uint32_t>(map.scale.size());
    const ValueId scale = to.constant(layer + ".scale", {n}, map.scale),
                  shift = to.constant(layer + ".shift", {n}, map.shift);
    return to.node(op_affine.name, {x, scale, shift}, {}, layer);
}

} // namespace longwave::ir
