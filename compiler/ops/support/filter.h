// Filters per channel in lag form, and their sums and chains.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <optional>

namespace longwave::ir {

class Rewriter; // ir/builder.h

// From so many taps on a filter is written as the op whose algorithms include transforms
// (passes/merge_branches.cc), and a convolution that mixes channels as such filters (ops/conv/separate.cc).
inline constexpr uint32_t least_long_taps = 64;

// From H channels to C copies of each: C·H rows, row n = copy·H + channel, h = n mod H:
//     y[t,n] = Σ_j taps[n][j] · x[t−j,h] + Σ_j ahead[n][j] · x[t+1+j,h] + bias[n]
// Prepared taps are computed when the model is opened and unknown now. They add gain[n] times the
// convolution of x with them.
struct Filter {
    size_t heads = 0;                             // H
    std::vector<std::vector<double>> taps, ahead; // [C·H][K], [C·H][A]; A = 0: causal
    bool two_sided = false;                       // reads rows after t; if A = 0, the prepared taps do
    std::vector<double> bias;                     // [C·H]
    const Node *prepared = nullptr;               // makes the prepared taps; null: there are none
    size_t prepared_taps = 0;                     // per side
    std::vector<double> gain;                     // [C·H], of the prepared taps
    bool may_wait = true;                         // a stream may wait for the rows after t, however many
    bool scattered = false; // its numbers are in several constants: one constant costs less

    size_t rows() const { return taps.size(); }
    size_t copies() const { return rows() / heads; }
    size_t known_taps() const { return taps[0].size(); }
    size_t known_ahead() const { return ahead[0].size(); }
    size_t longest() const; // of the longer side
    bool biased() const;

    static Filter identity(uint32_t heads, uint32_t copies = 1);
    // Applies a channel map to the result.
    void multiply(const std::vector<double> &scale, const std::vector<double> &shift);
    // Adds another filter. Returns false and changes nothing in three cases: the rows differ, both
    // have prepared taps, or the prepared taps are too few (or one-sided) to take up the known
    // ones.
    bool add(const Filter &other);
    // The chain of `first` and this filter as one filter. Empty if taps are prepared, or if the
    // chain is not exact: a filter that reads rows after t meets the cut end of the signal, and a
    // bias meets the zeros before the start.
    std::optional<Filter> after(const Filter &first) const;
};

// One row of a filter on its channel x, without bias. Within 1e-14 of the peak where the sums of the
// definition would take minutes: transforms compute those.
std::vector<double> filtered(const std::vector<double> &x, const std::vector<double> &taps,
                             const std::vector<double> &ahead);

// How an op is read as a filter, and how a filter is written as that op.
struct FilterForm {
    // False for attributes that make it no filter per channel: strides, mixed channels.
    bool (*is)(const Graph &graph, const Node &node);
    // Empty if its numbers are not constants.
    std::optional<Filter> (*read)(const Graph &graph, const Node &node);
    Expected<ValueId> (*write)(Rewriter &rewrite, const Graph &from, ValueId x, const Filter &filter,
                               const std::string &layer);
    bool any = false; // it can write every filter, not only sums of filters that were read from this op
};

// The op that can write every filter.
const OpDef &op_of_any_filter();

// Prepared taps [C',H,K], computed when the model is opened. C' = C, or 2·C if two-sided: taps,
// then taps ahead.
struct PreparedKernel {
    // The numbers [C',H,m] that are added to the first taps; m may be 0. Empty: they are not
    // constants.
    std::optional<Numbers> (*added)(const Graph &graph, const Node &node);
    // A node with gain[n] times the taps of `node` (without what it adds), plus `added`. Rows
    // beyond C use the same gains again.
    Expected<ValueId> (*write)(Rewriter &rewrite, const Graph &from, const Node &node,
                               const std::vector<double> &gain, ValueId added, const std::string &layer);
};

} // namespace longwave::ir
