// longwave tune --device: measures what the planner's choices for a GPU rest on.
#pragma once
#include "formats/base/expected.h"
#include <string>

namespace longwave::cli {

// Measures the device, "vulkan", "vulkan:NAME" or "vulkan:NUMBER", writes "gpu" into the tuning file
// `output` and prints the result. Other keys of the file stay. Fault::usage: another kind of device,
// or this program was built without Vulkan. Fault::device: there is no such device, or it fails.
Status tune_device(const std::string &device, const std::string &output, bool json);

} // namespace longwave::cli
