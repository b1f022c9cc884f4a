// The command that fits a model, for messages of commands that do not.
#pragma once
#include "tools/cli/model/model.h"
#include <string>

namespace longwave::cli {

// "use `longwave generate text.lw -p TEXT`". `decides`: the model has keyword decisions.
std::string right_command(const Model &model, const std::string &path, bool decides);

} // namespace longwave::cli
