// adaptive_embedding and adaptive_softmax: words in clusters of falling frequency. Cluster i has
// width / factor^i features (Grave et al. 2017; Baevski and Auli 2019). The embedding adds one row
// per cluster; a cluster without the id gives a row of zeros. The softmax is log_softmax of a head
// and its tails. A stream computes the words of a tail, which are most of the weights, only if the
// reader may take them (compiler/ops/linear/active_clusters.cc). The embedding always computes
// every cluster.
#include "compiler/layers/layers.h"
#include <charconv>

namespace longwave::compiler::layers {
namespace {

constexpr size_t most_clusters = 8;
// In nats: no word that a reader chooses is as far below the likeliest. A generator sets smaller ones
// (longwave/generator.h, likely_only).
constexpr int every_word = 16384;

struct Cluster {
    uint32_t first, size, width;
};

// The ends of all clusters but the last, "20000,60000"; empty: the text is not such a list.
std::vector<uint32_t> parse(const std::string &text) {
    std::vector<uint32_t> ends;
    for (const char *at = text.data(), *end = at + text.size(); at <= end; ++at) {
        uint32_t number = 0;
        const auto [stopped, error] = std::from_chars(at, end, number);
        if (error != std::errc() || (stopped != end && *stopped != ',')) return {};
        ends.push_back(number);
        at = stopped;
    }
    return ends;
}

Expected<std::vector<Cluster>> clusters(const Lowering &lowering, const Layer &layer, uint32_t width) {
    const uint32_t vocabulary = integer(layer, "vocabulary"), factor = integer(layer, "factor");
    const std::string text = layer.attributes.at("cutoffs");
    std::vector<uint32_t> ends = parse(text);
    bool rising = !ends.empty() && ends.size() < most_clusters && ends[0] > 0;
    ends.push_back(vocabulary);
    for (size_t i = 1; i < ends.size(); ++i) rising = rising && ends[i - 1] < ends[i];
    if (!rising)
        return lowering.failure(layer, "cutoffs",
                                "1 to " + std::to_string(most_clusters - 1) + " rising numbers below the " +
                                    std::to_string(vocabulary) + " words, such as \"20000,60000\"",
                                package::in_quotes(text));
    std::vector<Cluster> all;
    uint64_t divisor = 1;
    for (size_t i = 0; i < ends.size(); ++i, divisor *= factor) {
        if (divisor > width || width % divisor)
            return lowering.failure(layer, "factor",
                                    "a number whose powers divide the width, " + std::to_string(width) +
                                        ", " + std::to_string(ends.size()) + " clusters",
                                    std::to_string(factor));
        const uint32_t first = i ? ends[i - 1] : 0;
        all.push_back({first, ends[i] - first, static_cast<uint32_t>(width / divisor)});
    }
    return all;
}

std::string numbered(const char *stem, size_t i, const char *rest) { return stem + std::to_string(i) + rest; }

Expected<Flow> product(Lowering &lowering, const Layer &layer, Flow x, ir::ValueId matrix) {
    return lowering.node(layer, "linear", {x.value, matrix}, {{"bias", int64_t{0}}}, Form::features);
}

class Softmax {
public:
    Softmax(Lowering &lowering, const Layer &layer, uint32_t width)
        : lowering_(lowering), layer_(layer), width_(width) {}

    // Logits of so many words or classes.
    Expected<Flow> logits(const std::string &name, Flow x, uint32_t count) {
        return lowering_.product(layer_, name, x, count, flag(layer_, "bias"));
    }
    // The logits of the words of a tail. `mask`: the tails that a reader may skip.
    Expected<Flow> tail_logits(size_t tail, Flow x, const Cluster &cluster, Flow mask) {
        const bool bias = flag(layer_, "bias");
        const std::string stem = numbered("tail.", tail, ".2");
        std::vector<ir::ValueId> inputs = {
            x.value, lowering_.weight(layer_, stem + ".weight", {cluster.size, cluster.width})};
        if (bias) inputs.push_back(lowering_.weight(layer_, stem + ".bias", {cluster.size}));
        inputs.push_back(mask.value);
        return lowering_.node(layer_, "linear", std::move(inputs),
                              {{"bias", int64_t{bias}}, {"skip_mask", static_cast<int64_t>(tail)}},
                              Form::features);
    }
    // Features of a tail; tied: the embedding's own projection, the other way round.
    Expected<Flow> narrowed(size_t tail, Flow x, uint32_t features) {
        if (!flag(layer_, "tied_projections"))
            return lowering_.product(layer_, numbered("tail.", tail, ".0"), x, features, false);
        const std::string name = numbered("tail.", tail, ".0.weight");
        const std::vector<double> stored = lowering_.numbers(layer_, name, {width_, features});
        std::vector<float> transposed(stored.size());
        for (size_t i = 0; i < stored.size(); ++i)
            transposed[i % features * width_ + i / features] = static_cast<float>(stored[i]);
        return product(lowering_, layer_, x,
                       lowering_.constant(layer_.key(name) + ".transposed", {features, width_},
                                          SharedArray<float>(std::move(transposed))));
    }

private:
    Lowering &lowering_;
    const Layer &layer_;
    const uint32_t width_;
};

} // namespace

Expected<Flow> lower_adaptive_embedding(Lowering &lowering, const Layer &layer,
                                        std::span<const Flow> inputs) {
    const uint32_t width = integer(layer, "width");
    check_vocabulary(lowering, layer, inputs[0]);
    LW_ASSIGN(const std::vector<Cluster> all, clusters(lowering, layer, width));
    std::vector<ir::ValueId> tables, projections;
    for (size_t i = 0; i < all.size(); ++i) {
        tables.push_back(
            lowering.weight(layer, numbered("embeddings.", i, ".0.weight"), {all[i].size, all[i].width}));
        projections.push_back(
            lowering.weight(layer, numbered("embeddings.", i, ".1.weight"), {width, all[i].width}));
    }
    if (lowering.type(inputs[0]).elem != ir::Elem::i32)
        return lowering.failure(layer, "", "token ids", "rows of features",
                                "read an input of kind \"tokens\"");
    Flow sum;
    for (size_t i = 0; i < all.size(); ++i) {
        LW_ASSIGN(Flow row, lowering.node(layer, "embedding", {inputs[0].value, tables[i]},
                                          {{"first", int64_t{all[i].first}}}, Form::features));
        LW_ASSIGN(row, product(lowering, layer, row, projections[i]));
        if (i == 0) {
            sum = row;
            continue;
        }
        LW_ASSIGN(sum, lowering.node(layer, "add", {row.value, sum.value}, {}, Form::features));
    }
    return scaled(lowering, layer, sum);
}

Expected<Flow> lower_adaptive_softmax(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    LW_ASSIGN(const std::vector<Cluster> all, clusters(lowering, layer, width));
    Softmax softmax(lowering, layer, width);
    Flow head = inputs[0];
    if (flag(layer, "head_projection")) {
        LW_ASSIGN(head, lowering.product(layer, "head.proj", inputs[0], width, false));
    }
    LW_ASSIGN(const Flow words, softmax.logits("head.word_proj", head, all[0].size));
    LW_ASSIGN(const Flow classes,
              softmax.logits("head.class_proj", head, static_cast<uint32_t>(all.size() - 1)));
    LW_ASSIGN(const Flow margin, lowering.node(layer, "scalar", {classes.value},
                                               {{"name", std::string("logit_margin")},
                                                {"unit", std::string("nats")},
                                                {"initial", double{every_word}},
                                                {"low", 0.0},
                                                {"high", double{every_word}},
                                                {"smoothed", int64_t{0}}},
                                               Form::features));
    LW_ASSIGN(const Flow mask,
              lowering.node(layer, "active_clusters", {words.value, classes.value, margin.value},
                            {{"every", int64_t{every_word}}}, Form::features));
    std::vector<ir::ValueId> rows = {words.value, classes.value};
    for (size_t i = 1; i < all.size(); ++i) {
        LW_ASSIGN(Flow tail, softmax.narrowed(i - 1, inputs[0], all[i].width));
        LW_ASSIGN(tail, softmax.tail_logits(i - 1, tail, all[i], mask));
        rows.push_back(tail.value);
    }
    rows.push_back(mask.value);
    return lowering.node(layer, "log_softmax", std::move(rows), {{"skip_mask", int64_t{0}}}, Form::features);
}

} // namespace longwave::compiler::layers
