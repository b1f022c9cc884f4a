// Puts copies of values between kernels that want their rows in different orders of memory (ops
// selection/reorder_rows.h).
// Why here: the plan of a run says which kernels these are (plan/channel_major.h). The graph serves
// that run alone.
// Needs: values of the graph, each once, and nodes that read them.
// Keeps: every result, and the order of the nodes.
// Fails: Fault::internal if a value has no rows.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <set>
#include <vector>

namespace longwave::compiler {

struct ValueCopy {
    ir::ValueId value = 0;
    std::set<size_t> readers; // nodes that read the copy instead
    bool output = false;      // outputs of the model are the copy
};

Expected<ir::Graph> reorder_values(const ir::Graph &graph, const std::vector<ValueCopy> &copies);

} // namespace longwave::compiler
