// Rounds the weights of products to what the format they are stored in can hold, and says so on the node.
// Why here: after the folds, which change weights; from here on every reference computes with the numbers
// that the kernels read, so limits stay as tight as with float32.
// Needs: nothing. A node that names a format keeps it; the others get `format`.
// Keeps: biases, embeddings, norms, and convolutions over more than one row or frequency: float32.
// Fails: Fault::input for a weight that the format cannot hold.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include "schedules/contract/weight_formats.h"
#include <string>
#include <vector>

namespace longwave::compiler {

// What rounding did to the weights of one product.
struct StoredWeights {
    std::string layer;
    schedules::WeightFormat format;
    double error;   // ‖W − Ŵ‖ / ‖W‖
    double largest; // largest |W − Ŵ| / largest |W|
};

Expected<ir::Graph> store_weights(const ir::Graph &graph, schedules::WeightFormat format,
                                  std::vector<StoredWeights> &stored);

} // namespace longwave::compiler
