#include "tests/oracles/fixture.h"
#include <algorithm>
#include <filesystem>
#include <fnmatch.h>

namespace fs = std::filesystem;

namespace longwave::oracles {

Expected<std::vector<std::string>> find_fixtures(const std::string &folder, const std::vector<std::string> &patterns) {
    std::error_code error;
    std::vector<std::string> found;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().stem().string();
        const auto matches = [&](const std::string &pattern) {
            return pattern.find_first_of("*?[") == std::string::npos ? name.find(pattern) != std::string::npos
                                                                     : fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
        };
        if (entry.path().extension() != ".json") continue;
        if (patterns.empty() || std::any_of(patterns.begin(), patterns.end(), matches)) found.push_back(entry.path().string());
    }
    if (error) return Status::input(folder + ": cannot be listed: " + error.message());
    if (found.empty()) return Status::input(folder + ": holds no fixture" + (patterns.empty() ? "" : " that matches"));
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace longwave::oracles
