#include "compiler/passes/store_weights.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

using schedules::WeightFormat;

struct Rounded {
    ir::Numbers numbers;
    double error = 0, largest = 0; // as StoredWeights has them
};

// The error of rounding so far.
struct Change {
    double difference = 0, size = 0, worst = 0, peak = 0;
    void add(double weight, double rounded) {
        const double apart = std::fabs(weight - rounded);
        difference += apart * apart;
        size += weight * weight;
        worst = std::max(worst, apart);
        peak = std::max(peak, std::fabs(weight));
    }
    Rounded of(ir::Numbers numbers) const {
        if (peak == 0) return {std::move(numbers), 0, 0};
        return {std::move(numbers), std::sqrt(difference / size), worst / peak};
    }
};

Status cannot_hold(const std::string &layer, WeightFormat format, double weight) {
    return Status::input(fmt::format("layer {}: a weight of {:.6g} cannot be stored as {}: expected finite "
                                     "weights of at most 3.39e38 (float32 weights keep it)",
                                     layer, weight, schedules::name_of(format)));
}

Expected<Rounded> to_bf16(const ir::Numbers &weights, const std::string &layer) {
    std::vector<float> rounded(weights.size());
    Change change;
    for (size_t i = 0; i < rounded.size(); i++) {
        const double weight = weights[i], nearest = schedules::nearest_bf16(weight);
        if (!std::isfinite(nearest)) return cannot_hold(layer, WeightFormat::bf16, weight);
        rounded[i] = static_cast<float>(nearest);
        change.add(weight, nearest);
    }
    return change.of(SharedArray<float>(std::move(rounded)));
}

// In float64: steps times a scale have more digits than a float32.
Expected<Rounded> to_int8(const ir::Numbers &weights, size_t inputs, const std::string &layer) {
    std::vector<double> rounded(weights.size());
    Change change;
    for (size_t first = 0; first < rounded.size(); first += inputs) {
        double largest = 0;
        for (size_t i = first; i < first + inputs; i++) {
            if (!(std::fabs(weights[i]) <= 0x1.FEp127))
                return cannot_hold(layer, WeightFormat::int8, weights[i]);
            largest = std::max(largest, std::fabs(weights[i]));
        }
        const float scale = schedules::int8_scale(largest);
        for (size_t i = first; i < first + inputs; i++) {
            rounded[i] = double{scale} * schedules::int8_steps(weights[i], scale);
            change.add(weights[i], rounded[i]);
        }
    }
    return change.of(std::move(rounded));
}

} // namespace

Expected<ir::Graph> store_weights(const ir::Graph &graph, WeightFormat format,
                                  std::vector<StoredWeights> &stored) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ir::ValueId> {
        const bool asks = node.has(ir::stored_weights.name);
        const bool takes = node.op->rewrites.is_product && node.op->rewrites.is_product(graph, node);
        if (!takes || (!asks && format == WeightFormat::float32)) return rewrite.keep(node);
        LW_ASSIGN(const WeightFormat of_node, asks ? ir::weight_format(node) : format);
        ir::Attributes attributes = node.attributes;
        std::vector<ir::ValueId> inputs;
        for (const ir::ValueId input : node.inputs) inputs.push_back(rewrite.map(input));
        attributes.erase(ir::stored_weights.name);
        if (of_node != WeightFormat::float32) {
            const ir::Constant &weights = *graph.constant(node.inputs[1]);
            const ir::Type &type = graph.type(node.inputs[1]);
            LW_ASSIGN(Rounded rounded, of_node == WeightFormat::bf16
                                           ? to_bf16(weights.data, node.layer)
                                           : to_int8(weights.data, type.width() / type.dims[0], node.layer));
            stored.push_back({node.layer, of_node, rounded.error, rounded.largest});
            const char *name = schedules::name_of(of_node);
            inputs[1] =
                rewrite.to().constant(weights.key + "." + name, type.dims, std::move(rounded.numbers));
            attributes[ir::stored_weights.name] = std::string(name);
        }
        return rewrite.to().node(node.op->name, std::move(inputs), std::move(attributes), node.layer);
    });
}

} // namespace longwave::compiler
