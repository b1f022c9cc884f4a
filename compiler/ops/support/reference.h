// Runs a graph through the reference loops of its ops in float64. Every faster form is compared
// with this.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "formats/base/expected.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace longwave::ir {

// Inputs by name, [ticks][logical width]. A value with clock num/den has floor(ticks · num / den)
// rows. `length`: valid ticks for pooling (0: all of them). Every other op runs on all rows, as the
// published models do.
// Errors (Fault::input): an input is missing, unknown or of another width; an id is outside the
// vocabulary; the length is beyond the inputs.
struct Evaluation {
    unsigned workers = 1; // threads; results do not depend on their number
    // Rounds every value to float32, as any float32 engine does, and activations to their steps
    // (activation_steps).
    bool rounded = false;
    const std::set<ValueId> *halves = nullptr; // rounds these values to float16; null: none
    // With `rounded`: values that transforms of so many rows compute in float32; null: none. They
    // get one draw of the error of such a transform (transform_error.h).
    const std::map<ValueId, uint32_t> *transformed = nullptr;
};
Expected<std::vector<Array>> evaluate(const Graph &graph, const std::map<std::string, Array> &inputs,
                                      size_t length = 0, const Evaluation &how = {}); // the outputs, in order
Expected<std::vector<Array>> evaluate_all(const Graph &graph, const std::map<std::string, Array> &inputs,
                                          size_t length = 0); // every value, by id

// One node on given inputs. A timeless input has one row. `rows`: rows of the result. `length`:
// valid rows of the first input.
Array evaluate_node(const Graph &graph, const Node &node, std::span<const Operand> inputs, size_t rows,
                    size_t length, unsigned workers = 1);
// A node whose inputs are all constants.
std::vector<double> evaluate_constant(const Graph &graph, const Node &node);

} // namespace longwave::ir
