#include "tests/oracles/fixture.h"
#include <algorithm>
#include <filesystem>
#include <fnmatch.h>

namespace fs = std::filesystem;

namespace longwave::oracles {

Expected<std::vector<std::string>> find_fixtures(const std::string &folder,
                                                 const std::vector<std::string> &patterns) {
    std::error_code error;
    std::vector<std::string> found;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() != ".json") continue;
        const std::string name = entry.path().stem().string(), file = entry.path().filename().string();
        const auto matches = [&](const std::string &pattern) {
            if (pattern.find_first_of("*?[") == std::string::npos)
                return file.find(pattern) != std::string::npos;
            return fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
                   fnmatch(pattern.c_str(), file.c_str(), 0) == 0;
        };
        if (patterns.empty() || std::any_of(patterns.begin(), patterns.end(), matches))
            found.push_back(entry.path().string());
    }
    if (error) return Status::input(folder + ": cannot be listed: " + error.message());
    if (found.empty()) {
        std::string list;
        for (const auto &pattern : patterns) list += (list.empty() ? " that matches " : " or ") + pattern;
        return Status::input(folder + ": holds no fixture (NAME.json)" + list);
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace longwave::oracles
