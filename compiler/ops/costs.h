// The cost tables of all algorithms of all ops.
#pragma once
#include "compiler/ir/costs.h"

namespace longwave::compiler::costs {

// In the order of the ops and their algorithms, each once.
const std::vector<const CostTable *> &all_tables();
// Figures of all of them, from JSON as in costs.json. Fault::input: as Tables::parse.
Expected<Tables> parse(std::string_view json);
// The figures of schedules/long_conv/tables/costs.json.
const Tables &shipped();

} // namespace longwave::compiler::costs
