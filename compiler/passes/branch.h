// The algebra of merge_branches: a value as a filter on another, and how such filters add up.
#pragma once
#include "compiler/ops/support/filter.h"
#include "compiler/ir/op.h"

namespace longwave::compiler {

struct Branch {
    ir::Filter filter;
    std::vector<std::string> parts; // "3", "5", "identity"
    bool normed = false;            // a norm is in taps and bias
    const ir::OpDef *written =
        nullptr;       // as which op it is to be written; null while there is no convolution in it
    std::string layer; // of its longest convolution

    // Merging it alone saves something.
    bool worth_writing() const;
    std::string describe() const; // "branches {3, identity} → 5 taps and a bias"
};

bool is_filter(const ir::Graph &graph, const ir::Node *node);

// `value` as a branch on x, or nothing. `root`: it may have several readers; values inside that others read
// are needed anyway, so they stay.
std::optional<Branch> branch_of(const ir::Graph &graph, ir::ValueId value, ir::ValueId x, bool root);

// Nothing where the two cannot be one filter.
std::optional<Branch> sum(Branch a, const Branch &b);

} // namespace longwave::compiler
