// Every byte a verified plan could touch, counted a second time: not by the rules' formulas but by
// visiting places, in 128-bit arithmetic.
#pragma once
#include "formats/artifact/view.h"

namespace longwave::fuzz {

// Null, or what reaches outside the space it names. Of many slots and tiles the first, the last and
// one between are visited.
const char *reaches_outside(const artifact::View &view);

} // namespace longwave::fuzz
