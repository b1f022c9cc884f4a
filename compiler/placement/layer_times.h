// A file of `longwave bench MODEL --device vulkan --layers --json`: what each layer of whole sequences takes on the
// processor and on a device, and what it takes to go from one to the other. JSON: "layer_times" 1 (the version), "model",
// "device", "processor", "ticks", "submission_us", "byte_us", "move_us", "layers" [{"layer", "cpu_us", "gpu_us"}]; gpu_us
// null: it does not run there.
#pragma once
#include "compiler/placement/assignment.h"
#include "formats/base/expected.h"
#include <map>
#include <string>
#include <string_view>

namespace longwave::compiler {

inline constexpr int layer_times_version = 1;

struct MeasuredLayers {
    std::map<std::string, LayerTimes> layers;
    TransferTimes transfers;
    std::string made; // one line: device, processor, ticks
};

// `name` stands before every message. Fault::input: no such file, of another version or another model's.
Expected<MeasuredLayers> parse_layer_times(std::string_view text, const std::string &name,
                                           const std::string &model);

} // namespace longwave::compiler
