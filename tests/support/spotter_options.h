// The settings of the model, for float samples.
#pragma once
#include <longwave/spotter.h>

namespace longwave::test {

inline constexpr lw_spotter_options f32_spotter = {
    sizeof(lw_spotter_options), LW_F32, 0, nullptr, 0, 0, 0, 0, 0, 0, 0, 0};

} // namespace longwave::test
