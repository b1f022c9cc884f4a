// What to type instead of a command line that is not understood.
#pragma once
#include "tools/cli/command_line/description.h"
#include <map>
#include <string>
#include <vector>

namespace longwave::cli {

// What was typed for an argument: "input" -> "noisy.wav".
using Words = std::map<std::string, std::string>;

// A first word that is no command. `meant`: the one it resembles, or empty.
std::string unknown_command_text(const std::string &word, const std::string &meant);

// "--sream": "--sream: unknown option; did you mean --stream?". `program`: other commands may have it.
std::string unknown_option(const std::string &typed, const CommandDescription &command,
                           const CommandDescription &program);

// A word that no argument takes. `missing`: a required option that was left out, or empty.
std::string unexpected_argument(const std::string &word, const std::string &missing,
                                const CommandDescription &command, const std::string &program);

// `name`: an argument or an option that must be given. `taken`: the words of the arguments that may be
// left out, for one of them may have been meant for it.
std::string missing_argument(const std::string &name, const Words &taken, const CommandDescription &command,
                             const std::string &program);

// `name` may not be given with `other`. `taken`: as above.
std::string excluded_option(const std::string &name, const std::string &other, const Words &taken,
                            const CommandDescription &command);

// "--limit": "--limit: needs a value: --limit NUMBER".
std::string missing_value(const std::string &name, const CommandDescription &command);

// `typed` is none of the choices.
std::string unknown_choice(const std::string &typed, const std::vector<std::string> &choices);

// The word that a mistyped one was probably meant to be; empty: none is close.
std::string most_similar(const std::string &typed, const std::vector<std::string> &words);

// First words that people try and that are not commands of this program.

// What to type instead of `word`, in one line. Empty: nothing is known about it.
std::string answer_to(const std::string &word);

} // namespace longwave::cli
