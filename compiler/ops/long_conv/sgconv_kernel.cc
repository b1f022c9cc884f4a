// sgconv_kernel: the long kernel of SGConv from its parameters: scales are stretched, weighted by
// growth, joined, decayed, resized and divided by the stored norm.
#include "compiler/ir/builder.h"
#include "compiler/ops/long_conv/multi_scale.h"
#include "compiler/ops/support/reference.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

MultiScale scales_of(const Node &node, const KernelMode &mode) {
    const auto integer = [&](const char *name) { return static_cast<uint32_t>(node.integer(name)); };
    return {integer("kernel_dim"), integer("num_scales"), integer("init_scale"), mode.sum, mode.nearest};
}

uint64_t taps_of(const Node &node, const KernelMode &mode, uint64_t full) {
    const auto l_max = static_cast<uint64_t>(node.integer("l_max")),
               resolution = static_cast<uint64_t>(node.integer("resolution"));
    if (mode.trunc) return resolution;
    return std::min(mode.expand ? l_max : full, resolution);
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t d, rules::integer(node, "kernel_dim", 1, 1 << 20));
    LW_ASSIGN(const uint32_t n, rules::integer(node, "num_scales", 1, 24));
    LW_TRY(rules::integer(node, "init_scale", 0, 24).status());
    LW_TRY(rules::integer(node, "l_max", 1, 1 << 28).status());
    LW_TRY(rules::integer(node, "resolution", 1, 1 << 28).status());
    LW_ASSIGN(const uint32_t channels, rules::integer(node, "channels", 1, 1 << 20));
    LW_ASSIGN(const uint32_t heads, rules::integer(node, "heads", 1, 1 << 20));
    const KernelMode mode = KernelMode::parse(node.text("mode"));
    if (!mode.cat && !mode.sum)
        return Status::input("mode \"" + node.text("mode") + "\" expected cat_… or sum_…");
    if (node.text("mode").find("hankel") != std::string::npos)
        return Status::input("mode hankel is not supported: no published configuration uses it");
    LW_TRY(rules::count(in, n + 3));
    for (uint32_t i = 0; i < n; ++i)
        LW_TRY(rules::operand(in[i], fmt::format("kernel_list.{}", i).c_str(), {channels, heads, d}));
    LW_TRY(rules::operand(in[n], "kernel_norm", {channels, heads}));
    LW_TRY(rules::vector(in[n + 1], "growth", heads));
    LW_TRY(rules::vector(in[n + 2], "decay", heads));
    const uint64_t full = scales_of(node, mode).taps(), taps = taps_of(node, mode, full);
    LW_TRY(rules::elements({channels, heads, std::max(full, taps)}, "the kernel").status());
    Type type = in[0];
    type.dims = {channels, heads, static_cast<uint32_t>(taps)};
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const KernelMode mode = KernelMode::parse(node.text("mode"));
    const MultiScale scales = scales_of(node, mode);
    const uint32_t n = scales.num_scales;
    const auto l_max = static_cast<size_t>(node.integer("l_max")),
               heads = static_cast<size_t>(node.integer("heads"));
    const auto rows = static_cast<size_t>(node.integer("channels")) * heads, taps = out.width / rows;
    const auto &norm = in[n]->data, &growth = in[n + 1]->data, &decay = in[n + 2]->data;
    for (size_t r = 0; r < rows; ++r) { // (channel, head)
        std::vector<double> k(scales.taps());
        for (uint32_t i = 0; i < n; ++i)
            add_scale(scales, i, in[i]->data.copy(r * scales.kernel_dim, scales.kernel_dim).data(),
                      std::pow(growth[r % heads], n - 1 - i), k.data(), k.size());
        if (mode.learnable)
            for (size_t p = 0; p < k.size(); ++p)
                k[p] *= std::pow(static_cast<double>(p + 1), -decay[r % heads]);
        if (mode.expand) k = resize(k, l_max, mode.nearest);
        if (mode.trunc) {
            k.resize(std::min(k.size(), l_max));
            k = resize(k, taps, mode.nearest);
            for (double &value : k) value *= static_cast<double>(l_max) / static_cast<double>(taps);
        }
        for (size_t p = 0; p < taps; ++p) out.data[r * taps + p] = k[p] / norm[r];
    }
}

Status wrong(const Node &node, const std::string &what) {
    return Status::input(fmt::format("layer {}: {}: {}", node.layer, node.op->name, what));
}

// The published form of every scale, and shorter than the taps: worth expanding where the model
// runs.
bool stays_parametric(const Node &node, uint32_t taps) {
    const KernelMode mode = KernelMode::parse(node.text("mode"));
    return mode.cat && !mode.learnable && !mode.resizes() &&
           taps > node.integer("num_scales") * node.integer("kernel_dim");
}

// [N, C', H, d]: scale i of channel copy c and head h times growth_h^(N−1−i) / norm_ch.
std::vector<double> weighted_scales(const Graph &graph, const Node &node) {
    const auto data = [&](size_t input) -> const Numbers & {
        return graph.constant(node.inputs[input])->data;
    };
    const auto n = static_cast<size_t>(node.integer("num_scales")),
               d = static_cast<size_t>(node.integer("kernel_dim"));
    const Numbers &norm = data(n), &growth = data(n + 1);
    std::vector<double> out;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < data(i).size(); ++j) {
            const size_t row = j / d;
            out.push_back(data(i)[j] * std::pow(growth[row % growth.size()], static_cast<double>(n - 1 - i)) /
                          norm[row]);
        }
    return out;
}

// Taps, or expand_scales where the parameters are fewer than the taps they stand for.
Expected<ValueId> materialise(Rewriter &rewrite, const Graph &from, const Node &node) {
    const Numbers &norm = from.constant(node.inputs[node.inputs.size() - 3])->data;
    if (std::any_of(norm.begin(), norm.end(), [](double z) { return !(z > 0); }))
        return wrong(node, "kernel_norm expected positive numbers, found zero or less");
    const auto &dims = from.type(node.output).dims; // [C', H, taps]
    const bool parametric = stays_parametric(node, dims[2]);
    std::vector<double> values = parametric ? weighted_scales(from, node) : evaluate_constant(from, node);
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
        return wrong(node, "its taps are not finite");
    if (!parametric) return rewrite.to().constant(node.layer + ".k", dims, std::move(values));
    const MultiScale scales = scales_of(node, KernelMode::parse(node.text("mode")));
    const std::vector<uint32_t> shape{scales.num_scales, dims[0], dims[1], scales.kernel_dim};
    const ValueId parameters = rewrite.to().constant(node.layer + ".kernel_list", shape, std::move(values));
    const Attributes attributes{{"nearest", int64_t{scales.nearest}},
                                {"init_scale", int64_t{scales.init_scale}},
                                {"taps", int64_t{dims[2]}}};
    return rewrite.to().node(op_expand_scales.name, {parameters}, attributes, node.layer);
}

} // namespace

const OpDef op_sgconv_kernel{
    .name = "sgconv_kernel",
    .attributes = {{"mode", AttributeDef::Kind::text},
                   {"kernel_dim", AttributeDef::Kind::integer},
                   {"num_scales", AttributeDef::Kind::integer},
                   {"init_scale", AttributeDef::Kind::integer},
                   {"l_max", AttributeDef::Kind::integer},
                   {"resolution", AttributeDef::Kind::integer},
                   {"channels", AttributeDef::Kind::integer},
                   {"heads", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .natural_length = rules::l_max,
    .rewrites = {.materialise = materialise},
    .reference = reference,
};

} // namespace longwave::ir
