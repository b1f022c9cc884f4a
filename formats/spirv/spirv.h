// The first words of a SPIR-V module, which every reader checks.
// Source: Khronos SPIR-V specification 1.6, section 2.3.
#pragma once
#include <cstdint>

namespace longwave {

inline constexpr uint32_t spirv_magic = 0x07230203;
// In words: magic, version, generator, bound of ids, schema.
inline constexpr uint32_t spirv_header = 5;

} // namespace longwave
