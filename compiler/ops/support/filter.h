// Filters of each channel in lag form, and the sums and chains that several of them become.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <optional>

namespace longwave::ir {

class Rewriter; // ir/builder.h

// From H channels to C copies of each, C·H rows, row n = copy·H + channel:
// y[t,n] = Σ_j taps[n][j] · x[t−j,h] + Σ_j ahead[n][j] · x[t+1+j,h] + bias[n], with h = n mod H, and, where
// taps are prepared when the model is opened and so unknown now, gain[n] times the convolution of x with
// these.
struct Filter {
    size_t heads = 0;                             // H
    std::vector<std::vector<double>> taps, ahead; // [C·H][K], [C·H][A]; A = 0: causal
    bool two_sided = false;         // reads rows after t, also where A = 0: then by its prepared taps
    std::vector<double> bias;       // [C·H]
    const Node *prepared = nullptr; // makes the taps that are unknown now
    size_t prepared_taps = 0;       // of each side
    std::vector<double> gain;       // [C·H], of these
    bool scattered = false;         // its numbers are in several places: written anew it costs less

    size_t rows() const { return taps.size(); }
    size_t copies() const { return rows() / heads; }
    size_t known_taps() const { return taps[0].size(); }
    size_t known_ahead() const { return ahead[0].size(); }
    size_t longest() const; // of either side
    bool biased() const;

    static Filter identity(uint32_t heads, uint32_t copies = 1);
    // With a channel map behind it.
    void multiply(const std::vector<double> &scale, const std::vector<double> &shift);
    // False, and unchanged, where the two have not the same rows, both have taps that are unknown now, or the
    // unknown ones have not room for the known ones: they are fewer, or of one side only.
    bool add(const Filter &other);
    // This filter of the result of `first`, as one. Nothing where that is not exact: a filter that reads rows
    // after t meets a signal that was cut at the end, and a bias the zeros before the start; or where taps
    // are unknown.
    std::optional<Filter> after(const Filter &first) const;
};

// A filter as an op: of the graph's constants, and written anew.
struct FilterForm {
    // Not with all attributes: strided, mixing channels.
    bool (*is)(const Graph &graph, const Node &node);
    // Nothing where its numbers are no constants.
    std::optional<Filter> (*read)(const Graph &graph, const Node &node);
    Expected<ValueId> (*write)(Rewriter &rewrite, const Graph &from, ValueId x, const Filter &filter,
                               const std::string &layer);
    bool any = false; // writes every filter; another form only sums of its own
};

// Taps [C',H,K] that are computed when the model is opened; C' = C, or 2·C when two-sided: taps, then those
// ahead.
struct PreparedKernel {
    // The numbers that it adds to its first taps, [C',H,m]; may be none. Nothing: they are no constants.
    std::optional<Numbers> (*added)(const Graph &graph, const Node &node);
    // gain[n] times the node's taps without what it adds, plus `added`. Rows of C' beyond C take the same
    // gains again.
    Expected<ValueId> (*write)(Rewriter &rewrite, const Graph &from, const Node &node,
                               const std::vector<double> &gain, ValueId added, const std::string &layer);
};

} // namespace longwave::ir
