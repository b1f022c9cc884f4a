// The element types of the project, from the graph to the kernels and the artifact.
#pragma once
#include <cstdint>

namespace longwave {

// f16: what kernels of a GPU may store between each other; nothing outside of a run's arena is of
// it.
enum class Elem : uint8_t { f32 = 0, i32 = 1, f64 = 2, f16 = 3 };

constexpr uint32_t bytes_of(Elem elem) { return elem == Elem::f64 ? 8 : elem == Elem::f16 ? 2 : 4; }

// "f32": as in the text form of graphs, in signatures of kernels and in reports.
constexpr const char *name_of(Elem elem) {
    switch (elem) {
    case Elem::f32: return "f32";
    case Elem::i32: return "i32";
    case Elem::f64: return "f64";
    case Elem::f16: return "f16";
    }
    return "";
}

} // namespace longwave
