#include "formats/package/names.h"

namespace longwave::package {

using nlohmann::json;

Names::Names(const char *thing, const std::vector<std::string> &inputs, Problems &problems)
    : expected_(std::string("the name of an input or of an earlier ") + thing), problems_(problems) {
    for (size_t i = 0; i < inputs.size(); ++i) known_.emplace(inputs[i], element("inputs", i));
}

std::string Names::resolve(const json &reference, const std::string &path, std::string scope) {
    if (!reference.is_string()) {
        problems_.add(path, expected_, describe(reference));
        return "";
    }
    const auto &name = reference.get_ref<const std::string &>();
    while (true) {
        if (known_.count(scope + name)) return scope + name;
        if (scope.empty()) break;
        scope.pop_back(); // "a/b/" -> "a/"
        size_t slash = scope.rfind('/');
        scope.resize(slash == std::string::npos ? 0 : slash + 1);
    }
    std::vector<std::string> names;
    if (problems_.patient() && !problems_.full())
        for (const auto &[address, where] : known_) names.push_back(address);
    problems_.add(path, expected_, in_quotes(name), problems_.hint(name, names));
    return name;
}

void Names::define(const std::string &address, const std::string &path) {
    auto [it, fresh] = known_.emplace(address, path);
    if (!fresh)
        problems_.add(path + ".name", "a name that is used once",
                      in_quotes(address) + ", which " + it->second + " has too", "rename one of them");
}

} // namespace longwave::package
