// Times of the layers of an offline run, each on the CPU and on a GPU. `longwave compile --place
// FILE` reads them.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>

namespace longwave::cli {

// The longest offline run that the model has for both CPU and GPU. Layout of the result:
// compiler/placement/layer_times.h. Fault::usage: the device is the CPU, or the artifact lacks one
// of the entries.
Expected<nlohmann::ordered_json> bench_layers(const ModelFlags &flags);
void print_layers(const nlohmann::ordered_json &json);

} // namespace longwave::cli
