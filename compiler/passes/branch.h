// The algebra of merge_branches: a value as a filter on another value, and sums of such filters.
#pragma once
#include "compiler/ir/op.h"
#include "compiler/ops/support/filter.h"

namespace longwave::compiler {

struct Branch {
    ir::Filter filter;
    std::vector<std::string> parts; // "3", "5", "identity"
    bool normed = false;            // taps and bias contain a norm
    bool rewritten = false;         // it has so many taps that another op than its own computes it
    const ir::OpDef *written =
        nullptr;       // the op that will express it; null as long as it contains no convolution
    std::string layer; // of its longest convolution

    // True if merging this branch alone saves work.
    bool worth_writing() const;
    std::string describe() const; // "branches {3, identity} → 5 taps and a bias"
};

bool is_filter(const ir::Graph &graph, const ir::Node *node);

// `value` as a branch on x; empty if it is none. `root`: `value` may have several readers. A value
// inside the branch that another node reads is needed anyway, so it stays.
std::optional<Branch> branch_of(const ir::Graph &graph, ir::ValueId value, ir::ValueId x, bool root);

// Empty if the two cannot be one filter.
std::optional<Branch> sum(Branch a, const Branch &b);

} // namespace longwave::compiler
