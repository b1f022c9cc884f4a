// What entries begin with in place of zeros: rows before the first of a value (OpDef::past), and the
// steps that copy numbers of the model to memory of an offline run.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/step.h"
#include <string>

namespace longwave::compiler {

// `bytes` of `from`, a multiple of 4. Lines of 64 bytes on both sides are copied whole.
Step copied_step(BufferId from, const Place &to, uint64_t bytes, const std::string &name);

// The last `there` rows before the first of the result of `past`, at the end of `rows` rows of memory.
Packed packed_past(const ir::Graph &graph, const ir::Node &past, uint32_t there, uint32_t rows);

} // namespace longwave::compiler
