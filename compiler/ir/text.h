// Graphs as text: what --dump-after prints and pass tests are written in. Weights are named, not
// printed; parsing takes them from a table or makes zeros.
//
//   graph "kws12"
//   %0 = input "audio" audio rate=16000 : f32[1] @1/1
//   %1 = const "head.weight" : [12,96]
//   %2 = linear(%0, %1) {bias=0} : f32[12] @1/320 causal   ; layer head
//   output "logits" %2
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <map>

namespace longwave::ir {

std::string print(const Graph &graph);
std::string print(const Type &type); // "f32[12] @1/320 causal"
// Errors (Fault::input) name line and column. Types after the colon are checked against
// the inferred ones.
Expected<Graph> parse(const std::string &text,
                      const std::map<std::string, std::vector<double>> &weights = {});

} // namespace longwave::ir
