#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/pointwise/factors.h"
#include "compiler/ops/support/compare.h"
#include "compiler/passes/passes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

using schedules::WeightFormat;

constexpr int most_doublings = 10; // inputs of smaller weights do not count
constexpr size_t rows_of_rerun = 8;

// What makes the inputs of a matrix: `producer`, then `between`, the nearest to it first.
struct Source {
    ir::Node producer;
    std::vector<ir::Node> between;
};

bool has_own_weights(const ir::Graph &graph, const ir::Node &node) {
    return node.inputs.size() > 1 && ir::constants_from(graph, node, 1) && graph.uses(node.inputs[1]) == 1;
}

// The new graph has no outputs yet, so readers are those of the old one. Both have the same chain, but
// a producer may have other weights by now.
std::optional<Source> source_of(const ir::Graph &old, const ir::Graph &graph, ir::ValueId before,
                                ir::ValueId x) {
    Source source;
    for (;;) {
        const ir::Node *was = old.producer(before), *node = graph.producer(x);
        if (!was || !node || old.uses(before) != 1) return {};
        if (node->op->rewrites.fold_result) {
            if (!has_own_weights(old, *was) || !ir::constants_from(graph, *node, 1)) return {};
            source.producer = *node;
            std::reverse(source.between.begin(), source.between.end());
            return source;
        }
        if (!ir::keeps_positive_factors(*node)) return {};
        source.between.push_back(*node);
        before = was->inputs[0], x = node->inputs[0];
    }
}

// For each channel the factor of its weights; channels repeat along a row of the matrix.
std::vector<double> factors_of(const ir::Numbers &weights, size_t inputs, size_t channels) {
    std::vector<double> largest(channels, 0.0), row(inputs);
    for (size_t first = 0; first < weights.size(); first += inputs) {
        weights.read(first, row);
        for (size_t i = 0; i < inputs; ++i)
            largest[i % channels] = std::max(largest[i % channels], std::fabs(row[i]));
    }
    const double peak = *std::max_element(largest.begin(), largest.end());
    std::vector<double> factors(channels, 1.0);
    for (size_t c = 0; c < channels; ++c)
        if (largest[c] > 0)
            factors[c] =
                std::exp2(std::min<double>(std::round(std::log2(peak / largest[c])), most_doublings));
    return factors;
}

class Balancer {
public:
    Balancer(ir::Rewriter &rewrite, const ir::Graph &old, WeightFormat format)
        : rewrite_(rewrite), to_(rewrite.to()), old_(old), format_(format) {}

    Expected<ir::ValueId> balanced(const ir::Node &node) {
        LW_ASSIGN(const ir::ValueId kept, rewrite_.keep(node));
        LW_ASSIGN(const bool rounds, rounds_weights(node));
        if (!rounds) return kept;
        const ir::Node matrix = *to_.graph().producer(kept); // a copy: adding nodes moves the originals
        const std::optional<Source> source = source_of(old_, to_.graph(), node.inputs[0], matrix.inputs[0]);
        if (!source) return kept;
        const size_t inputs = to_.graph().type(matrix.inputs[0]).width(),
                     channels = to_.graph().type(source->producer.inputs[1]).dims[0];
        if (inputs % channels) return kept;
        const std::vector<double> factors =
            factors_of(to_.graph().constant(matrix.inputs[1])->data, inputs, channels);
        if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1; })) return kept;
        LW_ASSIGN(const std::optional<ir::ValueId> made, written(matrix, *source, factors));
        if (!made) return kept;
        LW_TRY(confirm(node.layer, source->producer, kept, *made));
        return *made;
    }

private:
    Expected<bool> rounds_weights(const ir::Node &node) const {
        const ir::Rewrites &rewrites = node.op->rewrites;
        if (!rewrites.is_product || !rewrites.is_product(old_, node) || !rewrites.fold_input) return false;
        if (!has_own_weights(old_, node)) return false;
        WeightFormat format = format_;
        if (node.has(ir::stored_weights.name)) {
            LW_ASSIGN(format, ir::weight_format(node));
        }
        return format == WeightFormat::int8 || format == WeightFormat::int4;
    }

    Expected<std::optional<ir::ValueId>> written(const ir::Node &matrix, const Source &source,
                                                 const std::vector<double> &factors) {
        const std::vector<double> zeros(factors.size(), 0.0);
        ir::ChannelMap smaller{.scale = {}, .shift = zeros};
        for (const double f : factors) smaller.scale.push_back(1 / f);
        const ir::Node &producer = source.producer;
        LW_ASSIGN(std::optional<ir::ValueId> x,
                  producer.op->rewrites.fold_result(to_, producer, producer.inputs[0], smaller));
        if (!x) return x;
        for (const ir::Node &op : source.between) {
            LW_ASSIGN(x, to_.node(op.op->name, {*x}, op.attributes, op.layer));
        }
        return matrix.op->rewrites.fold_input(to_, matrix, *x, {.scale = factors, .shift = zeros});
    }

    Status confirm(const std::string &layer, const ir::Node &producer, ir::ValueId before,
                   ir::ValueId after) {
        std::vector<ir::Type> types;
        for (const ir::ValueId id : producer.inputs) types.push_back(to_.graph().type(id));
        const ir::Clock in = types[0].clock, out = to_.graph().type(producer.output).clock;
        const uint64_t stride =
            out.timeless() ? 1 : uint64_t{in.num} * out.den / (uint64_t{in.den} * out.num);
        const size_t rows =
            rows_of_rerun * std::max<uint64_t>(stride, 1) + producer.op->stream(producer, types).history;
        LW_ASSIGN(const ir::Graph was, ir::excerpt(to_.graph(), producer.inputs[0], {before}));
        LW_ASSIGN(const ir::Graph is, ir::excerpt(to_.graph(), producer.inputs[0], {after}));
        LW_ASSIGN(ir::Certificate certificate,
                  ir::certify("balance_inputs", layer,
                              fmt::format("one range for the inputs from {}", producer.layer), was, is,
                              rows));
        to_.certificate(std::move(certificate));
        return Status::ok();
    }

    ir::Rewriter &rewrite_;
    ir::Builder &to_;
    const ir::Graph &old_;
    const WeightFormat format_;
};

} // namespace

Expected<ir::Graph> balance_inputs(const ir::Graph &graph, WeightFormat format) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) {
        return Balancer(rewrite, graph, format).balanced(node);
    });
}

} // namespace longwave::compiler
