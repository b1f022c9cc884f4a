// Which fixtures of a folder to take.
#pragma once
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::oracles {

// Paths of the fixtures in a folder whose names match one of the patterns (shell patterns, or parts
// of the name); sorted.
Expected<std::vector<std::string>> find_fixtures(const std::string &folder,
                                                 const std::vector<std::string> &patterns);

} // namespace longwave::oracles
