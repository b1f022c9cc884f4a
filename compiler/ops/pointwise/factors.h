// Which pointwise ops hand a positive factor on: f(s x) = s f(x) for s > 0.
#pragma once
#include "compiler/ir/graph.h"

namespace longwave::ir {

bool keeps_positive_factors(const Node &node);

} // namespace longwave::ir
