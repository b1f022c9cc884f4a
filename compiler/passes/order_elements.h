// Lets elements lie as they come between ops that take elements in another order. A spectrum that is
// transposed to [bins, frames], squared and transposed back stays as it is, so that neighbours move together.
// Why here: all other rewrites know the order of the package. Needs: values that only pointwise ops of rows
// and takes make and read. Keeps: every result, bit for bit. Values that others read, and outputs. Orders
// without longer runs. Fails: never on a verified graph.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> order_elements(const ir::Graph &graph);

} // namespace longwave::compiler
