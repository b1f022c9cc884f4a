#pragma once
#include <string>
#include <vector>

namespace longwave::cli {

// The word that a mistyped one was probably meant to be; empty: none is close.
std::string most_similar(const std::string &typed, const std::vector<std::string> &words);

} // namespace longwave::cli
