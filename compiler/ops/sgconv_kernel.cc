// sgconv_kernel: SGConv's long kernel from its parameters: scales stretched, weighted by growth, joined, decayed, resized, divided by its stored norm.
#include "compiler/ops/multi_scale.h"
#include "compiler/ops/rules.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

MultiScale scales_of(const Node &node, const KernelMode &mode) {
    const auto integer = [&](const char *name) { return static_cast<uint32_t>(node.integer(name)); };
    return {integer("kernel_dim"), integer("num_scales"), integer("init_scale"), mode.sum, mode.nearest};
}

uint64_t taps_of(const Node &node, const KernelMode &mode, uint64_t full) {
    const auto l_max = static_cast<uint64_t>(node.integer("l_max")), resolution = static_cast<uint64_t>(node.integer("resolution"));
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
    if (!mode.cat && !mode.sum) return Status::input("mode \"" + node.text("mode") + "\" expected cat_… or sum_…");
    if (node.text("mode").find("hankel") != std::string::npos)
        return Status::input("mode hankel is not supported: no published configuration uses it");
    LW_TRY(rules::count(in, n + 3));
    for (uint32_t i = 0; i < n; ++i) LW_TRY(rules::operand(in[i], fmt::format("kernel_list.{}", i).c_str(), {channels, heads, d}));
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
    const auto l_max = static_cast<size_t>(node.integer("l_max")), heads = static_cast<size_t>(node.integer("heads"));
    const auto rows = static_cast<size_t>(node.integer("channels")) * heads, taps = out.width / rows;
    const auto &norm = in[n]->data, &growth = in[n + 1]->data, &decay = in[n + 2]->data;
    for (size_t r = 0; r < rows; ++r) { // (channel, head)
        std::vector<double> k(scales.taps());
        for (uint32_t i = 0; i < n; ++i)
            add_scale(scales, i, in[i]->data.copy(r * scales.kernel_dim, scales.kernel_dim).data(), std::pow(growth[r % heads], n - 1 - i), k.data(),
                      k.size());
        if (mode.learnable)
            for (size_t p = 0; p < k.size(); ++p) k[p] *= std::pow(static_cast<double>(p + 1), -decay[r % heads]);
        if (mode.expand) k = resize(k, l_max, mode.nearest);
        if (mode.trunc) {
            k.resize(std::min(k.size(), l_max));
            k = resize(k, taps, mode.nearest);
            for (double &value : k) value *= static_cast<double>(l_max) / static_cast<double>(taps);
        }
        for (size_t p = 0; p < taps; ++p) out.data[r * taps + p] = k[p] / norm[r];
    }
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
    .reference = reference,
};

} // namespace longwave::ir
