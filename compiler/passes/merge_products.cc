#include "compiler/ir/builder.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/support/compare.h"
#include "compiler/passes/passes.h"
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

constexpr uint64_t most_multiplications = uint64_t{1} << 32; // multiply-adds of one product of two matrices
constexpr size_t rows_of_products = 8;

// Outputs first, the rest are inputs.
struct Matrix {
    size_t out, in;
    std::vector<double> weight, bias;
};

bool is_plain_product(const ir::Graph &graph, const ir::Node *node) {
    return node && node->op->rewrites.is_product && node->op->rewrites.is_product(graph, *node) &&
           ir::constants_from(graph, *node, 1) && !node->has(ir::stored_weights.name) &&
           graph.uses(node->inputs[1]) == 1;
}

size_t outputs_of(const ir::Graph &graph, const ir::Node &node) { return graph.type(node.inputs[1]).dims[0]; }
size_t inputs_of(const ir::Graph &graph, const ir::Node &node) {
    return graph.type(node.inputs[1]).width() / outputs_of(graph, node);
}

Matrix matrix_of(const ir::Graph &graph, const ir::Node &node) {
    Matrix m{.out = outputs_of(graph, node), .in = inputs_of(graph, node), .weight = {}, .bias = {}};
    m.weight = graph.constant(node.inputs[1])->data.to_vector();
    if (node.inputs.size() > 2) m.bias = graph.constant(node.inputs[2])->data.to_vector();
    return m;
}

Matrix product_of(const Matrix &second, const Matrix &first) {
    Matrix m{.out = second.out,
             .in = first.in,
             .weight = std::vector<double>(second.out * first.in),
             .bias = second.bias};
    for (size_t o = 0; o < m.out; ++o)
        for (size_t n = 0; n < second.in; ++n) {
            const double factor = second.weight[o * second.in + n];
            for (size_t i = 0; i < m.in; ++i) m.weight[o * m.in + i] += factor * first.weight[n * m.in + i];
        }
    if (first.bias.empty()) return m;
    m.bias.resize(m.out, 0.0);
    for (size_t o = 0; o < m.out; ++o)
        for (size_t n = 0; n < second.in; ++n) m.bias[o] += second.weight[o * second.in + n] * first.bias[n];
    return m;
}

// The multiplication before `second`, if both take more time than their product would.
const ir::Node *before(const ir::Graph &graph, const ir::Node &second) {
    const ir::Node *first = graph.producer(second.inputs[0]);
    if (!is_plain_product(graph, &second) || !is_plain_product(graph, first)) return nullptr;
    const uint64_t in = inputs_of(graph, *first), between = outputs_of(graph, *first),
                   out = outputs_of(graph, second);
    const bool smaller = in * out < in * between + between * out;
    return smaller && in * between * out <= most_multiplications ? first : nullptr;
}

Expected<ir::ValueId> written(ir::Builder &to, const ir::Node &first, const ir::Node &second) {
    // The first op reads rows of several dims, where only it does.
    const ir::ValueId x = first.inputs[0];
    const ir::Node &form = to.graph().type(x).dims.size() == 1 ? second : first;
    Matrix both = product_of(matrix_of(to.graph(), second), matrix_of(to.graph(), first));
    std::vector<uint32_t> dims = to.graph().type(form.inputs[1]).dims;
    dims[0] = static_cast<uint32_t>(both.out), dims[1] = static_cast<uint32_t>(both.in);
    ir::Attributes attributes = form.attributes;
    attributes["bias"] = int64_t{!both.bias.empty()};
    std::vector<ir::ValueId> inputs{
        x, to.constant(second.layer + ".weight.merged", dims, std::move(both.weight))};
    if (!both.bias.empty())
        inputs.push_back(to.constant(second.layer + ".bias.merged", {dims[0]}, std::move(both.bias)));
    return to.node(form.op->name, std::move(inputs), std::move(attributes), second.layer);
}

} // namespace

Expected<ir::Graph> merge_products(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ir::ValueId> {
        LW_ASSIGN(const ir::ValueId kept, rewrite.keep(node));
        if (!is_plain_product(graph, &node) || graph.uses(node.inputs[0]) != 1) return kept;
        ir::Builder &to = rewrite.to();
        const ir::Node second = *to.graph().producer(kept); // copies: adding nodes moves the originals
        const ir::Node *found = before(to.graph(), second);
        if (!found) return kept;
        const ir::Node first = *found;
        LW_ASSIGN(const ir::ValueId made, written(to, first, second));
        LW_ASSIGN(const ir::Graph was, ir::excerpt(to.graph(), first.inputs[0], {kept}));
        LW_ASSIGN(const ir::Graph is, ir::excerpt(to.graph(), first.inputs[0], {made}));
        const std::string what =
            fmt::format("{} behind {} of {} → one matrix", second.op->name, first.op->name, first.layer);
        LW_ASSIGN(ir::Certificate certificate,
                  ir::certify("merge_products", second.layer, what, was, is, rows_of_products));
        to.certificate(std::move(certificate));
        return made;
    });
}

} // namespace longwave::compiler
