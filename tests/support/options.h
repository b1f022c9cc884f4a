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

// The same for a model of any input: null where that has token ids.
inline const lw_stream_options *plain_stream(const lw_model *model) {
    lw_input_info input = LW_INPUT_INFO_INIT;
    return lw_model_input(model, 0, &input) == LW_OK && input.kind == LW_INPUT_TOKENS ? nullptr : &f32_stream;
}

} // namespace longwave::test
