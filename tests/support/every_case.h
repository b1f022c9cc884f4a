// Cases that a test adds under `tools/test --all`: without them cheaper ones take the same branches.
#pragma once
#include <cstdlib>

namespace longwave::test {

// $LONGWAVE_EVERY_CASE is set, as `tools/test --all` has it.
inline bool every_case() { return std::getenv("LONGWAVE_EVERY_CASE"); }

} // namespace longwave::test
