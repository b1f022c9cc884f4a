// Rounds the weights of matrix multiplications to their storage format, and names the format on the
// node. With int8 and int4 it also states to how many steps kernels may round activations
// (`activation_steps`): as many as keep every sum inside an int32, whatever the activations are.
// Long taps become int8 with both, in groups of 32 with a scale.
// Why here: folds change weights, so they come first. From here on every reference computes with
// the numbers that kernels read, and error limits stay as tight as with float32. Needs: nothing. A
// node that names a format keeps it; other nodes get `format`. Where int4 cannot be, because a
// matrix is also a table or an op reads no groups, they get int8. An embedding takes the format of
// the multiplication that it shares its table with. Other embeddings get int8 with int8 and int4.
// Keeps: biases, norms, short filters and convolutions over several frequencies: these stay float32.
// Fails: Fault::input for a weight that the format cannot hold.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include "schedules/contract/weight_formats.h"
#include <string>
#include <vector>

namespace longwave::compiler {

// The error that rounding caused in the weights of one matrix multiplication, or in taps.
struct StoredWeights {
    std::string layer;
    schedules::WeightFormat format;
    double error;   // ‖W − Ŵ‖ / ‖W‖
    double largest; // largest |W − Ŵ| / largest |W|
    bool taps = false;
};

// `bytes`: kernels may round activations to int8 (`byte_activation_steps`), not int16 only.
Expected<ir::Graph> store_weights(const ir::Graph &graph, schedules::WeightFormat format, bool bytes,
                                  std::vector<StoredWeights> &stored);

} // namespace longwave::compiler
