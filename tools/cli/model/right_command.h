// The command that fits a model, for messages of commands that do not.
#pragma once
#include "tools/cli/model/model.h"
#include <string>

namespace longwave::cli {

// Whether one output gives a value for every so many samples of audio: a probability of speech.
bool gives_speech(const Model &model);
// Whether one output of its stream is audio.
bool gives_audio(const Model &model);

// "use `longwave generate text.lw -p TEXT`". `decides`: the model has keyword decisions.
std::string right_command(const Model &model, const std::string &path, bool decides);

} // namespace longwave::cli
