// A file of `longwave bench MODEL --device vulkan --layers --json`: the time of each layer of an
// offline run on the CPU and on a device, and the times of transfers between them. JSON:
// "layer_times" 1 (the version), "model", "device", "processor", "ticks", "submission_us",
// "byte_us", "move_us", "layers" [{"layer", "cpu_us", "gpu_us", "gpu_bytes"}]. A gpu_us of null: the
// layer does not run on the device. The bytes are for readers.
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

// `name` stands before every message. Fault::input: not such a file, another version, another
// model.
Expected<MeasuredLayers> parse_layer_times(std::string_view text, const std::string &name,
                                           const std::string &model);

} // namespace longwave::compiler
