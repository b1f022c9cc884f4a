// The commands that run code of other machines, as --emulator names them.
#pragma once
#include "tools/cli/remote/remote.h"
#include <map>

namespace longwave::cli {

using Emulators = std::map<std::string, std::shared_ptr<Remote>>; // by target

// Starts longwave-runner-TARGET, which lies next to this program, by `command`: words separated by
// spaces. A command that names a longwave-runner itself, such as "ssh board longwave-runner", is
// started as it is. `seconds`: the longest time that one reply may take. Fault::device: a program is
// missing or cannot be started.
Expected<std::shared_ptr<Remote>> start_runner(const std::string &target, const std::string &command,
                                               double seconds);

// `flags`: COMMAND, or TARGET=COMMAND. `targets`: those of the compilation. Fault::usage: a command
// for no target that needs one, or for several.
Expected<Emulators> start_emulators(const std::vector<std::string> &flags,
                                    const std::vector<std::string> &targets, double seconds = 600);

} // namespace longwave::cli
