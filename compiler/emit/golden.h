// Golden vectors: a short input and what the float64 references make of it, kept in the artifact so that
// `verify` can run them on any machine.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/planner/entry_plan.h"
#include "formats/artifact/plan_generated.h"
#include "formats/base/expected.h"
#include <vector>

namespace longwave::compiler {

// Appends to `segment`; `entry` is the index in the artifact. A few hundred steps at most; deterministic
// input. The limit is a float32 engine's distance from float64: some 5e-6 of the peak for models of these
// depths (measured on published code). `workers`: threads; the numbers do not depend on them.
Expected<fb::GoldenT> make_golden(const ir::Graph &graph, const EntryPlan &plan, uint16_t entry,
                                  std::vector<uint8_t> &segment, unsigned workers);

} // namespace longwave::compiler
