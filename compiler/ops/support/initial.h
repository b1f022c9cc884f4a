// What ops begin with in place of zeros: rows before the first of a value, and recurrent states.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"

namespace longwave::ir {

// Only the CPU puts them where kernels read them.
Status initial_on_host(const KernelCall &call);

// The node that makes the first input of `node`, if rows stand before its first (OpDef::past); else
// null.
const Node *past_of(const Graph &graph, const Node &node);

// Whether `node` reads such rows: it declares a history.
bool looks_back_on_past(const Graph &graph, const Node &node);

// The last `rows` rows before the first of its result, oldest first, zeros in front of those that
// it has: [rows][width].
std::vector<double> rows_before(const Graph &graph, const Node &past, size_t rows);

} // namespace longwave::ir
