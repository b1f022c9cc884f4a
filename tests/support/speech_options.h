// The default settings, for float samples.
#pragma once
#include <longwave/speech_detector.h>

namespace longwave::test {

inline constexpr lw_speech_detector_options f32_speech = {
    sizeof(lw_speech_detector_options), LW_F32, 0, nullptr, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

} // namespace longwave::test
