// Causal filters of each channel in lag form, and the sums that parallel ones on one value become.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <optional>

namespace longwave::ir {

class Rewriter; // ir/builder.h

// y[t,h] = Σ_j taps[h][j] · x[t−j,h] + bias[h], and, where taps are prepared when the model is opened and so
// unknown now, gain[h] times the convolution of x with these.
struct Filter {
    std::vector<std::vector<double>> taps; // [H][K]
    std::vector<double> bias;              // [H]
    const Node *prepared = nullptr;        // makes the taps that are unknown now
    size_t prepared_taps = 0;
    std::vector<double> gain; // [H], of these
    bool scattered = false;   // its numbers are in several places: written anew it costs less

    size_t channels() const { return taps.size(); }
    size_t known_taps() const { return taps[0].size(); }
    size_t longest() const { return prepared ? prepared_taps : known_taps(); }
    bool biased() const;

    static Filter identity(uint32_t channels);
    // With a channel map behind it.
    void multiply(const std::vector<double> &scale, const std::vector<double> &shift);
    // False, and unchanged, where both have taps that are unknown now, or the known ones are the longer.
    bool add(const Filter &other);
};

// A filter as an op: of the graph's constants, and written anew.
struct FilterForm {
    // Not with all attributes: strided, grouped, two-sided, of several copies.
    bool (*is)(const Graph &graph, const Node &node);
    // Nothing where its numbers are no constants.
    std::optional<Filter> (*read)(const Graph &graph, const Node &node);
    Expected<ValueId> (*write)(Rewriter &rewrite, const Graph &from, ValueId x, const Filter &filter,
                               const std::string &layer);
    bool any = false; // writes every filter; another form only what is of its own
};

// Taps [C',H,K] that are computed when the model is opened.
struct PreparedKernel {
    // The numbers that it adds to its first taps, [C',H,m]; may be none. Nothing: they are no constants.
    std::optional<Numbers> (*added)(const Graph &graph, const Node &node);
    // gain[h] times the node's taps without what it adds, plus `added`.
    Expected<ValueId> (*write)(Rewriter &rewrite, const Graph &from, const Node &node,
                               const std::vector<double> &gain, ValueId added, const std::string &layer);
};

} // namespace longwave::ir
