// Valid lengths of offline runs: `length` ends pooling, and every other op runs on all rows of the
// sequence. One small graph per op that reads other rows, compared with its float64 reference.
#pragma once
#include "tests/support/compiled_model.h"

namespace longwave::test {

// Compiles each graph for these targets and runs it with fewer valid rows than rows, and where the
// op allows, with fewer rows than the capacity. `device`: null for the CPU.
void check_lengths(const compiler::Options &options, const std::shared_ptr<lw_device> &device);

} // namespace longwave::test
