#include "tools/cli/model/right_command.h"

namespace longwave::cli {
namespace {

bool continues_text(const Model &model) {
    if (model.inputs.size() != 1 || model.inputs[0].kind != LW_INPUT_TOKENS) return false;
    for (const lw_output_info &output : model.stream_outputs)
        if (output.width == model.inputs[0].vocabulary) return true;
    return false;
}

} // namespace

bool gives_speech(const Model &model) {
    if (!model.audio()) return false;
    for (const lw_output_info &output : model.stream_outputs)
        if (output.width == 1 && output.clock_num == 1 && output.clock_den > 1 && output.sample_rate == 0)
            return true;
    return false;
}

bool gives_audio(const Model &model) {
    if (!model.audio()) return false;
    for (const lw_output_info &output : model.stream_outputs)
        if (output.sample_rate != 0) return true;
    return false;
}

std::string right_command(const Model &model, const std::string &path, bool decides) {
    if (continues_text(model)) return "use `longwave generate " + path + " -p TEXT`";
    if (decides && model.audio()) return "use `longwave listen " + path + " FILE.wav`";
    if (gives_audio(model)) return "use `longwave denoise " + path + " IN.wav OUT.wav`";
    if (gives_speech(model)) return "use `longwave vad " + path + " FILE.wav`";
    std::string text = "use `longwave run " + path;
    if (!model.info.has_run) text += " --stream";
    for (const lw_input_info &input : model.inputs)
        text += std::string(" --input ") + input.name + "=@FILE" +
                (input.kind == LW_INPUT_AUDIO ? ".wav" : ".npy");
    return text + "`";
}

} // namespace longwave::cli
