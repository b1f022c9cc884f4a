// longwave tune MODEL: times the variants of a model's kernels on a GPU.
#pragma once
#include "formats/base/expected.h"
#include <string>

namespace longwave::cli {

// Times them anew on the device, "vulkan", "vulkan:NAME" or "vulkan:NUMBER", and prints the result.
// The device's cache remembers the choice. Fault::usage: another kind of device. Fault::device:
// there is no such device, or the model has no code for it.
Status tune_variants(const std::string &model, const std::string &device, bool json);

} // namespace longwave::cli
