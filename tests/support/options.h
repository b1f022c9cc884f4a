// Options of streams and runners for float samples, and the default of everything else.
#pragma once
#include "longwave/longwave.h"

namespace longwave::test {

inline lw_stream_options f32_options() {
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.format = LW_F32;
    return options;
}
inline const lw_stream_options f32_stream = f32_options();

inline lw_runner_options f32_runner_options() {
    lw_runner_options options = LW_RUNNER_OPTIONS_INIT;
    options.format = LW_F32;
    return options;
}
inline const lw_runner_options f32_runner = f32_runner_options();

} // namespace longwave::test
