// Re-runs an exact rewrite on numbers: the evidence in a certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <vector>

namespace longwave::ir {

// Largest difference of the graphs' first outputs on `rows` random rows, relative to the peak of `before`.
// Both have one input of one type. Few rows may be nonzero: `nonzero` of them, spread, the first and the last
// included (0: all); long kernels are then compared in full at bounded cost.
Expected<double> largest_difference(const Graph &before, const Graph &after, size_t rows, size_t nonzero = 0);

// The part of a graph that computes the sum of `terms` from the value `from`, which becomes its only input.
// Fault::internal where they need more than that.
Expected<Graph> excerpt(const Graph &graph, ValueId from, const std::vector<ValueId> &terms);

// What a re-run in float64 may differ by, relative to the peak.
inline constexpr double rewrite_bound = 1e-12;

// A certificate of what a pass did to a layer; Fault::internal where the error is above the bound: a rewrite
// that does not hold is a defect of the pass.
Expected<Certificate> certify(std::string pass, std::string layer, std::string what, const Graph &before,
                              const Graph &after, size_t rows, size_t nonzero = 0);

} // namespace longwave::ir
