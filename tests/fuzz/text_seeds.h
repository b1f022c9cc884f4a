// Seeds of what belongs to text: states of generators, and tokenizers with texts that are hard to
// cut.
#pragma once
#include <map>
#include <string>

namespace longwave::fuzz {

std::map<std::string, std::string> text_seeds(); // by <target>/<name>

} // namespace longwave::fuzz
