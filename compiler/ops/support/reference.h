// Runs a graph through the ops' reference loops in float64: what every faster form is compared with.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "formats/base/expected.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace longwave::ir {

// Inputs by name, [ticks][logical width]. A value with clock num/den has floor(ticks · num / den) rows.
// `length`: valid ticks for pooling (0: all of them). Every other op runs on all rows, as the published models do.
// Errors (Fault::input): an input is missing, unknown or of another width; an id is outside the vocabulary; the
// length is beyond the inputs.
struct Evaluation {
    unsigned workers = 1; // threads; the numbers do not depend on them
    bool rounded = false; // every value to float32: the least that any float32 engine does to them
    const std::set<ValueId> *halves = nullptr; // these to float16; null: none
};
Expected<std::vector<Array>> evaluate(const Graph &graph, const std::map<std::string, Array> &inputs,
                                      size_t length = 0, const Evaluation &how = {}); // the outputs, in order
Expected<std::vector<Array>> evaluate_all(const Graph &graph, const std::map<std::string, Array> &inputs,
                                          size_t length = 0); // every value, by id

// One node on given inputs; timeless ones have one row. rows: of the result; length: valid rows of the first
// input.
Array evaluate_node(const Graph &graph, const Node &node, std::span<const Operand> inputs, size_t rows,
                    size_t length, unsigned workers = 1);
// One whose inputs are all constants.
std::vector<double> evaluate_constant(const Graph &graph, const Node &node);

} // namespace longwave::ir
