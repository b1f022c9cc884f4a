// The element types of the project, from the graph to the kernels and the artifact.
#pragma once
#include <cstdint>

namespace longwave {

// f16: what kernels of a GPU may store between each other; nothing outside of a run's arena is of it.
enum class Elem : uint8_t { f32 = 0, i32 = 1, f64 = 2, f16 = 3 };

constexpr uint32_t bytes_of(Elem elem) { return elem == Elem::f64 ? 8 : elem == Elem::f16 ? 2 : 4; }

} // namespace longwave
