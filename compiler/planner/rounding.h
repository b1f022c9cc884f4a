// Sizes rounded up to whole pieces.
#pragma once
#include <cstdint>

namespace longwave::compiler {

inline constexpr uint64_t cache_line = 64;

inline uint32_t round_up(uint32_t n, uint32_t multiple) { return (n + multiple - 1) / multiple * multiple; }
inline uint64_t to_lines(uint64_t bytes) { return (bytes + cache_line - 1) / cache_line * cache_line; }

} // namespace longwave::compiler
