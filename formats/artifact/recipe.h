// Other weights under the same plan: the `recipe` segment of a verified artifact, checked by rule V22
// (docs/artifact-format.md) when it is opened. Apart from verify.h, for only who exchanges weights
// reads it.
#pragma once
#include "formats/artifact/verify.h"
#include "formats/artifact/view.h"
#include "formats/base/float_array.h"
#include <cstdint>
#include <span>

namespace longwave::fb {
struct Recipe;
} // namespace longwave::fb

namespace longwave::artifact {

namespace cap {
inline constexpr uint64_t recipe = 64u << 20;           // bytes of a recipe
inline constexpr uint64_t recipe_elements = 1ull << 31; // of one of its tensors
inline constexpr uint32_t tensors = 65535, copies = 1u << 20;
} // namespace cap

// Checks a recipe against its plan, which has been verified. `out` is set only when nothing is broken,
// and refers to the bytes. They are 8-aligned and must not change.
[[nodiscard]] Broken open_recipe(const fb::Plan &plan, const Bytes &segment, const fb::Recipe **out);

// Makes the copies of an opened recipe. `tensors`: the numbers of its tensors in its order, as many as
// their shapes say. `weights`: Plan.weights_bytes of them; what no copy writes stays.
void follow(const fb::Recipe &recipe, std::span<const FloatArray> tensors, uint8_t *weights);

} // namespace longwave::artifact
