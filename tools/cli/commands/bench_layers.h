// Layers of whole sequences, each on the CPU and on a GPU: what `longwave compile --place FILE` weighs.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>

namespace longwave::cli {

// The longest whole sequences of an artifact that has them for CPU and GPU. Layout of the result:
// compiler/placement/layer_times.h. Fault::usage: the device is the CPU, or the artifact lacks one of the entries.
Expected<nlohmann::ordered_json> bench_layers(const ModelFlags &flags);
void print_layers(const nlohmann::ordered_json &json);

} // namespace longwave::cli
