// Which algorithm computes an op, where it has several: the cheapest that applies.
#pragma once
#include "compiler/ir/op.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

struct Choice {
    const ir::Algorithm *algorithm = nullptr; // null: the op has one kernel rule
    ir::Decisions decisions;
    double cost = 0;       // ns an output element
    std::string runner_up; // "direct, +38 %"; empty when nothing else applies
};

// `force` names an algorithm or is empty. A form of streams that is forced leaves whole sequences to the
// planner, and the other way round, and one of CPUs what a GPU does; ops that know no algorithm of that
// name are not concerned. Errors: Fault::usage when the forced one does not apply, with the reason;
// Fault::input when none does.
Expected<Choice> choose(const ir::PlanContext &context, const std::string &force);

// Fault::usage unless some op knows it.
Status check_algorithm_name(const std::string &name);

} // namespace longwave::compiler
