// The ids of a module, as ids of another module that is being put together.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace longwave::spirv {

// Replaces every id by number(id), in place. Other operands stay. Throws spirv::Fault for a module
// that the Khronos parser rejects.
void renumber(std::vector<uint32_t> &words, const std::function<uint32_t(uint32_t)> &number);

} // namespace longwave::spirv
