// The first words of a SPIR-V module (Khronos SPIR-V specification 1.6, section 2.3): what every reader looks at.
#pragma once
#include <cstdint>

namespace longwave {

inline constexpr uint32_t spirv_magic = 0x07230203;
inline constexpr uint32_t spirv_header = 5; // words: magic, version, generator, bound of ids, schema

} // namespace longwave
