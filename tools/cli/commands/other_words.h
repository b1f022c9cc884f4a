// First words that people try and that are no commands of this program.
#pragma once
#include <string>

namespace longwave::cli {

// What to type instead of `word`, in one line. Empty: nothing is known about it.
std::string answer_to(const std::string &word);

} // namespace longwave::cli
