// Gives the inputs of a matrix one range before its weights are rounded to int8 or int4. A scale holds
// for all inputs of an output, or for 32 of them. One input with large weights would leave few steps for
// the others, however large their activations are. So the weights of input i take a factor s_i, and
// what makes the input takes 1 / s_i (Nagel and others 2019, data-free quantization). Rows between both
// are those of the model, times a constant per feature.
// Why here: all folds come before, and rounding comes next.
// Needs: constant weights on both sides, which no other node uses; ops in between that keep positive
// factors, such as relu; no other reader.
// Keeps: every result, bit for bit: the factors are powers of two.
// Fails: Fault::internal when a re-run on numbers does not confirm a change. Each has a certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include "schedules/contract/weight_formats.h"

namespace longwave::compiler {

// `format`: of the nodes that name none.
Expected<ir::Graph> balance_inputs(const ir::Graph &graph, schedules::WeightFormat format);

} // namespace longwave::compiler
