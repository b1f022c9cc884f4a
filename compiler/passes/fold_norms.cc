#include "compiler/passes/fold_norms.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/compare.h"
#include "compiler/ops/op.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace longwave::compiler {

namespace {

using ir::ValueId;

bool is(const ir::Node *node, std::string_view op) { return node && op == node->op->name; }

// x · scale + shift, both of one length: the channels or the whole row.
struct Affine {
    std::vector<double> scale, shift;
};

bool constant_from(const ir::Graph &graph, const ir::Node &node, size_t first) {
    return std::all_of(node.inputs.begin() + static_cast<ptrdiff_t>(first), node.inputs.end(),
                       [&](ValueId id) { return graph.constant(id) != nullptr; });
}

std::optional<Affine> affine_of(const ir::Graph &graph, const ir::Node *node) {
    if (!is(node, "affine") || !constant_from(graph, *node, 1)) return {};
    Affine out{graph.constant(node->inputs[1])->data.to_vector(), graph.constant(node->inputs[2])->data.to_vector()};
    const size_t n = std::max(out.scale.size(), out.shift.size());
    for (auto *list : {&out.scale, &out.shift})
        for (size_t i = 0, given = list->size(); i + given < n; ++i) list->push_back(double{(*list)[i]}); // channels repeat along a row
    return out;
}

Expected<Affine> affine_of_norm(const ir::Graph &graph, const ir::Node &node) {
    const auto data = [&](size_t input) -> const ir::Numbers & { return graph.constant(node.inputs[input])->data; };
    Affine out;
    for (size_t c = 0; c < data(1).size(); ++c) {
        const double variance = data(4)[c] + node.number("eps");
        if (!(variance > 0) || !std::isfinite(variance))
            return Status::input(fmt::format("layer {}: batch_norm: running_var[{}] + eps expected above zero, found {}", node.layer, c, variance));
        out.scale.push_back(data(1)[c] / std::sqrt(variance));
        out.shift.push_back(data(2)[c] - data(3)[c] * out.scale[c]);
    }
    return out;
}

class Folder {
public:
    Folder(ir::Rewriter &rewrite, const ir::Graph &old) : rewrite_(rewrite), to_(rewrite.to()), old_(old) {}

    Expected<ValueId> norm(const ir::Node &node) {
        LW_ASSIGN(const ValueId kept, rewrite_.keep(node));
        if (!constant_from(old_, node, 1)) return kept;
        std::optional<Affine> affine = affine_of(old_, &node);
        if (!affine) {
            LW_ASSIGN(affine, affine_of_norm(old_, node));
        }
        LW_ASSIGN(const std::optional<ValueId> folded, into_producer(node, kept, *affine));
        if (folded) return *folded;
        if (is(&node, "affine")) return kept;
        const auto n = static_cast<uint32_t>(affine->scale.size());
        const ValueId scale = to_.constant(node.layer + ".scale", {n}, affine->scale),
                      shift = to_.constant(node.layer + ".shift", {n}, affine->shift);
        LW_ASSIGN(const ValueId made, to_.node("affine", {rewrite_.map(node.inputs[0]), scale, shift}, {}, node.layer));
        LW_TRY(confirm(node.layer, "batch_norm → affine", rewrite_.map(node.inputs[0]), kept, made, 8));
        return made;
    }

    // Affines right before a linear, the nearest first.
    Expected<ValueId> linear(const ir::Node &node) {
        LW_ASSIGN(ValueId made, rewrite_.keep(node));
        for (ValueId x = node.inputs[0]; old_.uses(x) == 1;) {
            const ir::Node *before = graph().producer(rewrite_.map(x));
            const auto affine = affine_of(graph(), before);
            if (!affine || !constant_from(graph(), *graph().producer(made), 1)) break;
            const ValueId base = before->inputs[0];
            const std::string layer = before->layer;
            const ValueId unfolded = made;
            LW_ASSIGN(made, linear_behind(node, base, *graph().producer(unfolded), *affine));
            LW_TRY(confirm(node.layer, "affine of " + layer + " → linear", base, unfolded, made, 8));
            const ir::Node *was = old_.producer(x);
            if (!is(was, "affine") && !is(was, "batch_norm")) break;
            x = was->inputs[0];
        }
        return made;
    }

private:
    const ir::Graph &graph() const { return to_.graph(); }

    Status confirm(const std::string &layer, const std::string &what, ValueId from, ValueId before, ValueId after, size_t rows) {
        const auto a = ir::excerpt(graph(), from, {before}), b = ir::excerpt(graph(), from, {after});
        if (!a || !b) return a ? b.status() : a.status();
        auto certificate = ir::certify("fold_norms", layer, what, *a, *b, rows);
        if (certificate) to_.certificate(*std::move(certificate));
        return certificate.status();
    }

    // Into the linear or conv2d that made its input: w'[o,…] = w[o,…] · scale[o], b'[o] = b[o] · scale[o] + shift[o].
    Expected<std::optional<ValueId>> into_producer(const ir::Node &node, ValueId kept, const Affine &affine) {
        const ir::Node *found = graph().producer(rewrite_.map(node.inputs[0]));
        if ((!is(found, "linear") && !is(found, "conv2d")) || old_.uses(node.inputs[0]) != 1 || !constant_from(graph(), *found, 1))
            return std::optional<ValueId>();
        const ir::Node producer = *found; // a copy: adding nodes moves the originals
        const auto dims = graph().type(producer.inputs[1]).dims;
        const size_t outputs = dims[0], n = affine.scale.size();
        if (n != outputs) return std::optional<ValueId>(); // one value for every frequency and channel
        std::vector<double> weight = graph().constant(producer.inputs[1])->data.to_vector(), bias = affine.shift;
        const size_t size = weight.size() / outputs;
        for (size_t i = 0; i < weight.size(); ++i) weight[i] *= affine.scale[i / size];
        if (producer.inputs.size() > 2)
            for (size_t o = 0; o < outputs; ++o) bias[o] += graph().constant(producer.inputs[2])->data[o] * affine.scale[o];
        LW_ASSIGN(const ValueId made, rebuilt(producer, producer.inputs[0], std::move(weight), std::move(bias)));
        const size_t rows = is(&producer, "conv2d") ? dims[2] + 4 * static_cast<size_t>(producer.integer("stride_t")) : 8;
        LW_TRY(confirm(producer.layer, fmt::format("{} of {} → {}", node.op->name, node.layer, producer.op->name), producer.inputs[0], kept, made,
                       rows));
        return std::optional<ValueId>(made);
    }

    // w'[o,i] = w[o,i] · scale[i], b'[o] = b[o] + Σ w[o,i] · shift[i].
    Expected<ValueId> linear_behind(const ir::Node &node, ValueId base, ir::Node producer, const Affine &affine) {
        std::vector<double> weight = graph().constant(producer.inputs[1])->data.to_vector();
        const size_t outputs = graph().type(producer.inputs[1]).dims[0], inputs = weight.size() / outputs, n = affine.scale.size();
        std::vector<double> bias = producer.inputs.size() > 2 ? graph().constant(producer.inputs[2])->data.to_vector() : std::vector<double>(outputs);
        for (size_t o = 0; o < outputs; ++o)
            for (size_t i = 0; i < inputs; ++i) {
                double &w = weight[o * inputs + i];
                bias[o] += w * affine.shift[i % n];
                w *= affine.scale[i % n];
            }
        producer.layer = node.layer;
        return rebuilt(producer, base, std::move(weight), std::move(bias));
    }

    Expected<ValueId> rebuilt(const ir::Node &node, ValueId x, std::vector<double> weight, std::vector<double> bias) {
        const auto dims = graph().type(node.inputs[1]).dims;
        const ValueId w = to_.constant(node.layer + ".weight.folded", dims, std::move(weight));
        const ValueId b = to_.constant(node.layer + ".bias.folded", {dims[0]}, std::move(bias));
        ir::Attributes attributes = node.attributes;
        attributes["bias"] = int64_t{1};
        return to_.node(node.op->name, {x, w, b}, std::move(attributes), node.layer);
    }

    ir::Rewriter &rewrite_;
    ir::Builder &to_;
    const ir::Graph &old_;
};

} // namespace

Expected<ir::Graph> fold_norms(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ValueId> {
        Folder folder(rewrite, graph);
        if (is(&node, "batch_norm") || is(&node, "affine")) return folder.norm(node);
        if (is(&node, "linear")) return folder.linear(node);
        return rewrite.keep(node);
    });
}

} // namespace longwave::compiler
