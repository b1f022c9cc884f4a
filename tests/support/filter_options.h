// The default settings, for float samples.
#pragma once
#include <longwave/audio_stream.h>

namespace longwave::test {

inline constexpr lw_audio_stream_options f32_filter = {
    sizeof(lw_audio_stream_options), LW_F32, 0, nullptr, 0, 0, 0, 0};

} // namespace longwave::test
