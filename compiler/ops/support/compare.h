// Re-runs an exact rewrite on numbers. The result is the evidence in a certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <vector>

namespace longwave::ir {

// The largest difference of the first outputs of two graphs on `rows` random rows, relative to the
// peak of `before`. Both graphs have one input of the same type. `nonzero`: the number of nonzero
// rows, spread over the sequence, with the first and the last (0: all). With few nonzero rows long
// kernels are compared in full at bounded cost.
Expected<double> largest_difference(const Graph &before, const Graph &after, size_t rows, size_t nonzero = 0);

// The part of a graph that computes the sum of `terms` from the value `from`, which becomes its
// only input. Fault::internal: the terms depend on other inputs.
Expected<Graph> excerpt(const Graph &graph, ValueId from, const std::vector<ValueId> &terms);

// The largest difference allowed in a float64 re-run, relative to the peak.
inline constexpr double rewrite_bound = 1e-12;

// The certificate of a rewrite. Fault::internal: the error is above the bound, which is a defect of
// the pass.
Expected<Certificate> certify(std::string pass, std::string layer, std::string what, const Graph &before,
                              const Graph &after, size_t rows, size_t nonzero = 0);

} // namespace longwave::ir
