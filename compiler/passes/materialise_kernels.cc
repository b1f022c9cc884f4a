#include "compiler/passes/materialise_kernels.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/multi_scale.h"
#include "compiler/ops/reference.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

Status wrong(const ir::Node &node, const std::string &what) { return Status::input(fmt::format("layer {}: sgconv_kernel: {}", node.layer, what)); }

Status check(const ir::Graph &graph, const ir::Node &node) {
    for (const ir::ValueId id : node.inputs)
        if (!graph.constant(id)) return wrong(node, "expected constant parameters");
    const ir::Numbers &norm = graph.constant(node.inputs[node.inputs.size() - 3])->data;
    if (std::any_of(norm.begin(), norm.end(), [](double z) { return !(z > 0); }))
        return wrong(node, "kernel_norm expected positive numbers, found zero or less");
    return Status::ok();
}

// The published form of every scale, and shorter than the taps: worth expanding where the model runs.
bool stays_parametric(const ir::Node &node, uint32_t taps) {
    const auto mode = ir::KernelMode::parse(node.text("mode"));
    return mode.cat && !mode.learnable && !mode.resizes() && taps > node.integer("num_scales") * node.integer("kernel_dim");
}

// [N, C', H, d]: scale i of channel copy c and head h times growth_h^(N−1−i) / norm_ch.
std::vector<double> weighted_scales(const ir::Graph &graph, const ir::Node &node) {
    const auto data = [&](size_t input) -> const ir::Numbers & { return graph.constant(node.inputs[input])->data; };
    const auto n = static_cast<size_t>(node.integer("num_scales")), d = static_cast<size_t>(node.integer("kernel_dim"));
    const ir::Numbers &norm = data(n), &growth = data(n + 1);
    std::vector<double> out;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < data(i).size(); ++j) {
            const size_t row = j / d;
            out.push_back(data(i)[j] * std::pow(growth[row % growth.size()], static_cast<double>(n - 1 - i)) / norm[row]);
        }
    return out;
}

} // namespace

Expected<ir::Graph> materialise_kernels(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ir::ValueId> {
        if (std::string(node.op->name) != "sgconv_kernel") return rewrite.keep(node);
        LW_TRY(check(graph, node));
        const auto &dims = graph.type(node.output).dims; // [C', H, taps]
        const bool parametric = stays_parametric(node, dims[2]);
        std::vector<double> values = parametric ? weighted_scales(graph, node) : ir::evaluate_constant(graph, node);
        if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) return wrong(node, "its taps are not finite");
        if (!parametric) return rewrite.to().constant(node.layer + ".k", dims, std::move(values));
        const std::vector<uint32_t> shape{static_cast<uint32_t>(node.integer("num_scales")), dims[0], dims[1],
                                          static_cast<uint32_t>(node.integer("kernel_dim"))};
        const ir::ValueId parameters = rewrite.to().constant(node.layer + ".kernel_list", shape, std::move(values));
        const bool nearest = ir::KernelMode::parse(node.text("mode")).nearest;
        return rewrite.to().node("expand_scales", {parameters},
                                 {{"nearest", int64_t{nearest}}, {"init_scale", node.integer("init_scale")}, {"taps", int64_t{dims[2]}}}, node.layer);
    });
}

} // namespace longwave::compiler
