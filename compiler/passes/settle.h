// Gives a model the state that some rows of a constant input leave (model.json: "initial").
// Why here: last, because rows before the first one keep other passes from merging layers.
// Needs: a graph whose layers are causal.
// Gives: the same graph. Rows stand before the first one wherever a layer looks back (op `past`), and
// recurrent layers begin with their state. Offline runs and streams then go on behind these rows.
// Keeps: the results behind so many rows of the constant.
// Fails: Fault::input for layers that look ahead, or whose state the compiler does not know; and where
// the rows are no whole strides of all layers.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

// `ticks` > 0: of every input, each with this `value`.
Expected<ir::Graph> settle(const ir::Graph &graph, uint32_t ticks, double value);

} // namespace longwave::compiler
