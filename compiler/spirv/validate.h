// Checks a SPIR-V module against the rules of Vulkan 1.1, with the validator of the Khronos SPIRV-
// Tools.
#pragma once
#include <cstdint>
#include <vector>

namespace longwave::spirv {

// Throws spirv::Fault (formats/spirv/module.h) with the validator's first message.
void validate(const std::vector<uint32_t> &words);

} // namespace longwave::spirv
