// The type of a number, one list from the graph to the kernels and the artifact. Values are part of file formats:
// append, never renumber.
#pragma once
#include <cstdint>

namespace longwave {

enum class Elem : uint8_t { f32 = 0, i32 = 1, f64 = 2 };

constexpr uint32_t bytes_of(Elem elem) { return elem == Elem::f64 ? 8 : 4; }

} // namespace longwave
