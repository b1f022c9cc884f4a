// expand_scales: the taps of a `cat` kernel from parameters [N, C', H, d] that contain growth and
// norm, plus, if given, the taps [C', H, m] of a short kernel that was merged into it. The artifact
// stores these parameters, and the runtime expands them once when it opens the model.
#include "compiler/ir/builder.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/long_conv/multi_scale.h"
#include "compiler/ops/support/filter.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr uint32_t least_int8_dim = 8; // with fewer parameters the scales take more than they save

MultiScale scales_of(const Node &node, const Type &parameters) {
    return {parameters.dims[3], parameters.dims[0], static_cast<uint32_t>(node.integer("init_scale")), false,
            node.integer("nearest") == 1};
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::flag(node, "nearest").status());
    LW_TRY(rules::integer(node, "init_scale", 0, 24).status());
    if (in.size() != 2) LW_TRY(rules::count(in, 1));
    LW_TRY(rules::operand(in[0], "parameters", {0, 0, 0, 0}));
    if (in[0].dims[0] > 24)
        return Status::input(fmt::format("expected at most 24 scales, found {}", in[0].dims[0]));
    const uint64_t full = scales_of(node, in[0]).taps();
    LW_TRY(rules::elements({in[0].dims[1], in[0].dims[2], full}, "the kernel").status());
    LW_ASSIGN(const uint32_t taps, rules::integer(node, "taps", 1, static_cast<uint32_t>(full)));
    if (in.size() == 2) {
        LW_TRY(rules::operand(in[1], "short kernel", {in[0].dims[1], in[0].dims[2], 0}));
        if (in[1].dims[2] > taps)
            return Status::input(fmt::format(
                "short kernel expected at most the {} taps of the long one, found {}", taps, in[1].dims[2]));
    }
    Type type = in[0];
    type.dims = {in[0].dims[1], in[0].dims[2], taps};
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const auto &dims = context.types[0].dims;
    const size_t rows = size_t{dims[1]} * dims[2], taps = out.width / rows;
    for (uint32_t i = 0; i < dims[0]; ++i)
        for (size_t r = 0; r < rows; ++r)
            add_scale(scales_of(node, context.types[0]), i, in[0]->row(0) + (i * rows + r) * dims[3], 1.0,
                      &out.data[r * taps], taps);
    if (in.size() == 1) return;
    const size_t length = context.types[1].dims[2];
    for (size_t r = 0; r < rows; ++r)
        for (size_t j = 0; j < length; ++j) out.data[r * taps + j] += in[1]->data[r * length + j];
}

std::optional<Numbers> added(const Graph &graph, const Node &node) {
    if (!constants_from(graph, node, 0)) return {};
    return node.inputs.size() == 2 ? graph.constant(node.inputs[1])->data : Numbers();
}

Expected<ValueId> rewritten(Rewriter &rewrite, const Graph &from, const Node &node,
                            const std::vector<double> &gain, ValueId added, const std::string &layer) {
    ValueId parameters = rewrite.map(node.inputs[0]);
    if (std::any_of(gain.begin(), gain.end(), [](double g) { return g != 1; })) {
        const auto &dims = from.type(node.inputs[0]).dims; // [N, C', H, d]
        std::vector<double> values = from.constant(node.inputs[0])->data.to_vector();
        for (size_t i = 0; i < values.size(); ++i) values[i] *= gain[i / dims[3] % gain.size()];
        parameters = rewrite.to().constant(layer + ".kernel_list.scaled", dims, std::move(values));
    }
    return rewrite.to().node(op_expand_scales.name, {parameters, added}, node.attributes, layer);
}

// The parameters; a merged short kernel stays float32.
Expected<std::optional<ValueId>> round_taps(Rewriter &rewrite, const Graph &from, const Node &node,
                                            const Rewrites::Round &round) {
    const Constant *parameters = from.constant(node.inputs[0]);
    const auto &dims = from.type(node.inputs[0]).dims; // [N, C', H, d]
    if (!parameters || dims[3] < least_int8_dim || !fills_words(dims[1], dims[2]))
        return std::optional<ValueId>();
    LW_ASSIGN(Numbers rounded, round(parameters->data, dims[3]));
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(rewrite.map(input));
    inputs[0] = rewrite.to().constant(parameters->key + ".int8", dims, std::move(rounded));
    Attributes attributes = node.attributes;
    attributes[stored_weights.name] = "int8";
    LW_ASSIGN(const ValueId taps,
              rewrite.to().node(op_expand_scales.name, std::move(inputs), std::move(attributes), node.layer));
    return std::optional(taps);
}

constexpr PreparedKernel prepared_kernel{.added = added, .write = rewritten};

} // namespace

const OpDef op_expand_scales{
    .name = "expand_scales",
    .attributes = {{"nearest", AttributeDef::Kind::integer},
                   {"init_scale", AttributeDef::Kind::integer},
                   {"taps", AttributeDef::Kind::integer},
                   stored_weights},
    .infer = infer,
    .stream = row_by_row,
    .rewrites = {.round_taps = round_taps, .prepared = &prepared_kernel},
    .reference = reference,
};

} // namespace longwave::ir
