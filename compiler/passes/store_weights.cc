#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/passes/passes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace longwave::compiler {

namespace {

using schedules::WeightFormat;

// Weights as their format holds them, rounded as they are read. int8 in float64: steps times a
// scale have more digits than a float32.
class RoundedWeights : public ir::NumberSource {
public:
    // `together`: inputs of a scale.
    RoundedWeights(ir::Numbers weights, WeightFormat format, size_t inputs, size_t together)
        : weights_(std::move(weights)), format_(format), inputs_(inputs), together_(together),
          of_output_((inputs + together - 1) / together) {
        if (format != WeightFormat::bf16) find_scales();
    }
    size_t size() const override { return weights_.size(); }
    void read(size_t first, std::span<double> to) const override {
        weights_.read(first, to);
        if (format_ == WeightFormat::bf16) {
            for (double &weight : to) weight = schedules::nearest_bf16(weight);
            return;
        }
        const bool int4 = format_ == WeightFormat::int4;
        for (size_t i = 0; i < to.size(); i++) {
            const size_t output = (first + i) / inputs_, input = (first + i) % inputs_;
            const float scale = scales_[output * of_output_ + input / together_];
            to[i] = double{scale} *
                    (int4 ? schedules::int4_steps(to[i], scale) : schedules::int8_steps(to[i], scale));
        }
    }

private:
    // The last group of an output may have fewer inputs.
    void find_scales() {
        std::vector<double> row(inputs_);
        for (size_t first = 0; first < weights_.size(); first += inputs_) {
            weights_.read(first, row);
            for (size_t input = 0; input < inputs_; input += together_) {
                double largest = 0;
                for (size_t i = input; i < std::min(input + together_, inputs_); i++)
                    largest = std::max(largest, std::fabs(row[i]));
                scales_.push_back(format_ == WeightFormat::int4 ? schedules::int4_scale(largest)
                                                                : schedules::int8_scale(largest));
            }
        }
    }

    ir::Numbers weights_;
    WeightFormat format_;
    size_t inputs_;               // of an output
    size_t together_, of_output_; // inputs of a scale, and scales of an output
    std::vector<float> scales_;   // int8, int4
};

struct Rounded {
    ir::Numbers numbers;
    double error = 0, largest = 0; // as StoredWeights has them
    uint64_t heaviest = 0;         // int8: as activation_steps() has it
};

Status cannot_hold(const std::string &layer, WeightFormat format, double weight) {
    return Status::input(fmt::format("layer {}: a weight of {:.6g} cannot be stored as {}: expected finite "
                                     "weights of at most 3.39e38 (float32 weights keep it)",
                                     layer, weight, schedules::name_of(format)));
}

Expected<Rounded> rounded(const ir::Numbers &weights, size_t inputs, size_t together, WeightFormat format,
                          const std::string &layer) {
    const ir::Numbers made(std::make_shared<RoundedWeights>(weights, format, inputs, together));
    double difference = 0, size = 0, worst = 0, peak = 0;
    uint64_t heaviest = 0;
    std::vector<double> exact(inputs), stored(inputs);
    for (size_t first = 0; first < weights.size(); first += inputs) {
        weights.read(first, exact);
        made.read(first, stored);
        for (size_t i = 0; i < inputs; i++) {
            const bool held =
                format == WeightFormat::bf16 ? std::isfinite(stored[i]) : std::fabs(exact[i]) <= 0x1.FEp127;
            if (!held) return cannot_hold(layer, format, exact[i]);
            const double apart = std::fabs(exact[i] - stored[i]);
            difference += apart * apart;
            size += exact[i] * exact[i];
            worst = std::max(worst, apart);
            peak = std::max(peak, std::fabs(exact[i]));
        }
        if (format == WeightFormat::int8) heaviest = std::max(heaviest, schedules::int8_heaviness(exact));
    }
    if (peak == 0) return Rounded{made, 0, 0, heaviest};
    return Rounded{made, std::sqrt(difference / size), worst / peak, heaviest};
}

// Of activations; 0: they are not rounded.
int steps_of(WeightFormat format, uint64_t heaviest, bool bytes) {
    switch (format) {
    case WeightFormat::int8:
        return bytes ? schedules::activation_steps_of_byte(heaviest) : schedules::activation_steps(heaviest);
    case WeightFormat::int4:
        return bytes ? schedules::byte_activation_steps : schedules::most_activation_steps;
    default: return 0;
    }
}

// Rounds each matrix once for each format, however many nodes read it.
class Rounder {
public:
    Rounder(const ir::Graph &graph, WeightFormat format, bool bytes, std::vector<StoredWeights> &stored)
        : graph_(graph), format_(format), bytes_(bytes), stored_(stored) {}

    // The formats of products, before any node is rewritten: a table comes before the product that
    // it is tied to.
    Status survey() {
        for (const ir::Node &node : graph_.nodes) {
            if (node.op->rewrites.gathers_rows && node.inputs.size() > 1) tables_.insert(node.inputs[1]);
        }
        for (const ir::Node &node : graph_.nodes) {
            if (!is_product(node)) continue;
            LW_ASSIGN(const WeightFormat format, format_of(node));
            formats_.try_emplace(node.inputs[1], format);
        }
        return Status::ok();
    }

    Expected<ir::ValueId> rewritten(ir::Rewriter &rewrite, const ir::Node &node) {
        const bool asks = node.has(ir::stored_weights.name);
        if (node.op->rewrites.round_taps && integers()) return with_taps(rewrite, node);
        WeightFormat format = WeightFormat::float32;
        if (is_product(node)) {
            LW_ASSIGN(format, format_of(node));
        } else if (node.op->rewrites.gathers_rows && node.inputs.size() > 1) {
            const auto tied = formats_.find(node.inputs[1]);
            format = tied != formats_.end() ? tied->second : format_of_table();
        }
        if (format == WeightFormat::float32 && !asks) return rewrite.keep(node);
        ir::Attributes attributes = node.attributes;
        std::vector<ir::ValueId> inputs;
        for (const ir::ValueId input : node.inputs) inputs.push_back(rewrite.map(input));
        attributes.erase(ir::stored_weights.name);
        if (format != WeightFormat::float32) {
            LW_ASSIGN(const Made *const made, matrix(rewrite, node, format));
            inputs[1] = made->value;
            attributes[ir::stored_weights.name] = std::string(schedules::name_of(format));
            const int steps = steps_of(format, made->rounded.heaviest, bytes_);
            if (steps > 0 && is_product(node)) attributes[ir::activation_steps.name] = int64_t{steps};
        }
        return rewrite.to().node(node.op->name, std::move(inputs), std::move(attributes), node.layer);
    }

private:
    bool is_product(const ir::Node &node) const {
        return node.op->rewrites.is_product && node.op->rewrites.is_product(graph_, node);
    }
    Expected<WeightFormat> format_of(const ir::Node &node) const {
        WeightFormat format = format_;
        if (node.has(ir::stored_weights.name)) {
            LW_ASSIGN(format, ir::weight_format(node));
        }
        const bool groups = node.op->rewrites.takes_groups && node.op->rewrites.takes_groups(graph_, node) &&
                            !tables_.contains(node.inputs[1]);
        return format == WeightFormat::int4 && !groups ? WeightFormat::int8 : format;
    }

    bool integers() const { return format_ == WeightFormat::int8 || format_ == WeightFormat::int4; }

    // Of a table that nobody multiplies by. A row that is looked up is read once: int4 would save nothing.
    WeightFormat format_of_table() const { return integers() ? WeightFormat::int8 : format_; }

    Expected<ir::ValueId> with_taps(ir::Rewriter &rewrite, const ir::Node &node) {
        const auto round = [&](const ir::Numbers &taps, size_t of_row) -> Expected<ir::Numbers> {
            LW_ASSIGN(const Rounded made,
                      rounded(taps, of_row, std::min<size_t>(of_row, schedules::int8_taps),
                              WeightFormat::int8, node.layer));
            stored_.push_back({node.layer, WeightFormat::int8, made.error, made.largest, true});
            return made.numbers;
        };
        LW_ASSIGN(const std::optional<ir::ValueId> stored,
                  node.op->rewrites.round_taps(rewrite, graph_, node, round));
        return stored ? *stored : rewrite.keep(node);
    }

    struct Made {
        Rounded rounded;
        ir::ValueId value = 0;
    };

    Expected<const Made *> matrix(ir::Rewriter &rewrite, const ir::Node &node, WeightFormat format) {
        const auto [entry, fresh] = made_.try_emplace({node.inputs[1], format});
        if (fresh) {
            const ir::Constant &weights = *graph_.constant(node.inputs[1]);
            const ir::Type &type = graph_.type(node.inputs[1]);
            const size_t inputs = type.width() / type.dims[0],
                         together = format == WeightFormat::int4 ? schedules::int4_group : inputs;
            LW_ASSIGN(entry->second.rounded, rounded(weights.data, inputs, together, format, node.layer));
            entry->second.value = rewrite.to().constant(weights.key + "." + schedules::name_of(format),
                                                        type.dims, entry->second.rounded.numbers);
        }
        const Rounded &of = entry->second.rounded;
        const bool counted =
            node.op->rewrites.gathers_rows && formats_.contains(node.inputs[1]); // by its product
        if (!counted) stored_.push_back({node.layer, format, of.error, of.largest});
        return &entry->second;
    }

    const ir::Graph &graph_;
    const WeightFormat format_;
    const bool bytes_;
    std::vector<StoredWeights> &stored_;
    std::map<ir::ValueId, WeightFormat> formats_; // of the matrices of products
    std::set<ir::ValueId> tables_;                // matrices of which an embedding reads rows
    std::map<std::pair<ir::ValueId, WeightFormat>, Made> made_;
};

} // namespace

Expected<ir::Graph> store_weights(const ir::Graph &graph, WeightFormat format, bool bytes,
                                  std::vector<StoredWeights> &stored) {
    ir::Rewriter rewriter(graph);
    Rounder rounder(graph, format, bytes, stored);
    LW_TRY(rounder.survey());
    return rewriter.run(
        [&](ir::Rewriter &rewrite, const ir::Node &node) { return rounder.rewritten(rewrite, node); });
}

} // namespace longwave::compiler
