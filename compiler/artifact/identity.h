// What a model computes, as a hash: the same for every block, code variant and machine, another as soon as an
// op, an attribute or a weight differs. A saved state names it, so that it loads into the same model only.
#pragma once
#include "compiler/ir/graph.h"
#include <array>

namespace longwave::compiler {

// BLAKE2b-256 of the graph's text and of its constants' numbers.
std::array<uint8_t, 32> identity_of(const ir::Graph &graph);

} // namespace longwave::compiler
