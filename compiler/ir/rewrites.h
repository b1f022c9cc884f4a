// The properties of an op that passes ask for, so that no pass knows an op by name. Each is null or
// false if it does not apply. The functions below add nodes by their meaning.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <functional>
#include <optional>

namespace longwave::ir {

class Builder;  // ir/builder.h
class Rewriter; // ir/builder.h
struct FilterForm;
struct PreparedKernel;

// x · scale + shift, both of one length: the channels or the whole row.
struct ChannelMap {
    std::vector<double> scale, shift;
};

struct Separated {
    ValueId value = 0;
    uint32_t filters = 0, taps = 0;
};

struct Rewrites {
    bool sum = false; // adds its inputs, element by element

    // The op as a map of its first input; the others are constants. Fault::input: numbers that make
    // none.
    Expected<ChannelMap> (*channel_map)(const Graph &graph, const Node &node) = nullptr;

    // The op on `x`, with a map of its result or of its first input folded into its constant
    // weights. Empty if the map does not fit the weights.
    using Fold = Expected<std::optional<ValueId>> (*)(Builder &to, const Node &node, ValueId x,
                                                      const ChannelMap &map);
    Fold fold_result = nullptr, fold_input = nullptr;

    // True if the node is a matrix multiplication (ops/linear/matrix_multiply.h), so that its
    // weights may have a storage format.
    bool (*is_product)(const Graph &graph, const Node &node) = nullptr;

    // True if the weights of that multiplication may also be stored in groups (int4): several
    // outputs, and a row whose inputs lie in order.
    bool (*takes_groups)(const Graph &graph, const Node &node) = nullptr;

    // The node with its long taps rounded by `round`, which takes rows of as many numbers. Its kernels
    // then read them as int8. Null: the op has no taps. No value: these taps are too few.
    using Round = std::function<Expected<Numbers>(const Numbers &taps, size_t of_row)>;
    Expected<std::optional<ValueId>> (*round_taps)(Rewriter &rewrite, const Graph &from, const Node &node,
                                                   const Round &round) = nullptr;

    // True if the result is rows of input 1. If that is also the matrix of a multiplication, the
    // model stores it once, as the multiplication reads it.
    bool gathers_rows = false;

    // True if each element of the result is an element of input 0 or zero, as constant input 1 says
    // (ops/selection/selection.h).
    bool takes_elements = false;

    const FilterForm *filter = nullptr;       // a causal filter of each channel (filter.h)
    const PreparedKernel *prepared = nullptr; // taps that are computed when the model is opened (filter.h)

    // For an op that makes a kernel from constant parameters: the value that replaces it. This is
    // the taps, or fewer numbers that are expanded when the model is opened. Fault::input: the
    // parameters make no kernel.
    Expected<ValueId> (*materialise)(Rewriter &rewrite, const Graph &from, const Node &node) = nullptr;

    // Of an op without a kernel, which a neighbour absorbs: ops on `x` that have kernels and the same
    // result.
    Expected<ValueId> (*split)(Builder &to, const Node &node, ValueId x) = nullptr;

    // The node with constant weights, which mixes channels, as filters per channel and a sum. Empty:
    // it is better off as it is.
    Expected<std::optional<Separated>> (*separate)(Rewriter &rewrite, const Graph &from,
                                                   const Node &node) = nullptr;
};

// True if all inputs from `first` on are constants.
bool constants_from(const Graph &graph, const Node &node, size_t first);

// Defined in add.cc, affine.cc and linear.cc. make_plain_row has the same values in a row of one
// dimension.
Expected<ValueId> make_sum(Builder &to, ValueId a, ValueId b, const std::string &layer);
Expected<ValueId> make_channel_map(Builder &to, ValueId x, const ChannelMap &map, const std::string &layer);
Expected<ValueId> make_plain_row(Builder &to, ValueId x, const std::string &layer);

// For ops whose input 1 is a weight, output channels first, and input 2, where attribute `bias` is
// 1, a bias.
Expected<std::optional<ValueId>> fold_result_into_weights(Builder &to, const Node &node, ValueId x,
                                                          const ChannelMap &map);
Expected<std::optional<ValueId>> fold_input_into_weights(Builder &to, const Node &node, ValueId x,
                                                         const ChannelMap &map);

} // namespace longwave::ir
