// Chooses the algorithm of an op that has several: the cheapest that applies.
#pragma once
#include "compiler/ir/op.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

struct Choice {
    const ir::Algorithm *algorithm = nullptr; // null: the op has one kernel rule
    ir::Decisions decisions;
    double cost = 0;       // ns an output element
    std::string runner_up; // "direct, +38 %"; empty when nothing else applies
    std::string refused;   // "nonuniform: why; …": those that do not apply
};

// `force` names an algorithm or is empty. It has no effect where the device has no kernel of that
// algorithm for this kind of entry, and on ops without an algorithm of that name. Errors:
// Fault::usage when the forced algorithm does not apply, with the reason; Fault::input when no
// algorithm applies.
Expected<Choice> choose(const ir::PlanContext &context, const std::string &force);

// Fault::usage unless some op has an algorithm of this name.
Status check_algorithm_name(const std::string &name);

} // namespace longwave::compiler
