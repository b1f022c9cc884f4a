// A conv2d that mixes channels as filters per channel and a sum.
#pragma once
#include "compiler/ir/rewrites.h"
#include "formats/base/expected.h"
#include <optional>

namespace longwave::ir {

class Rewriter; // ir/builder.h

// Pairs of an input and an output: the spectra of more lie in no cache.
inline constexpr uint32_t most_separated_pairs = 256;

// Rewrites::separate of conv2d. Empty: its channels stay together, because it has few taps, many
// channels, strides, groups or frequencies.
Expected<std::optional<Separated>> separate(Rewriter &rewrite, const Graph &from, const Node &node);

} // namespace longwave::ir
