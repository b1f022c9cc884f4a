// The names of a model: inputs, and layers or nodes. Each is used once; references are to earlier
// ones.
#pragma once
#include "formats/package/problems.h"
#include <map>

namespace longwave::package {

class Names {
public:
    // `thing`: what the list of the model holds, "layer" or "node". `inputs`: names of the model's
    // inputs.
    Names(const char *thing, const std::vector<std::string> &inputs, Problems &problems);

    // The address that `reference` means inside `scope` ("" or "a/b/"); names inside a scope hide
    // those outside. Reports and returns it unchanged when there is none.
    std::string resolve(const nlohmann::json &reference, const std::string &path, std::string scope = "");
    void define(const std::string &address, const std::string &path);

private:
    std::string expected_;
    Problems &problems_;
    std::map<std::string, std::string> known_; // address -> JSON path
};

} // namespace longwave::package
