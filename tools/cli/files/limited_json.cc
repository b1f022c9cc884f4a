#include "tools/cli/files/limited_json.h"
#include "formats/package/json_text.h"

using nlohmann::ordered_json;

namespace longwave::cli {

Expected<ordered_json> parse_limited(std::string_view text, const std::string &where) {
    // A report has a few levels, some thousand values and some ten keys per object. An ordered
    // object is searched from its beginning for every key.
    constexpr size_t max_bytes = 16 << 20;
    constexpr package::JsonLimits limits{.depth = 32, .values = 1 << 20, .keys = 1024};
    if (text.empty()) return ordered_json();
    package::Problems problems;
    if (text.size() > max_bytes) {
        problems.line(where + ": longer than " + std::to_string(max_bytes) + " bytes");
    } else if (auto document = package::parse_json<ordered_json>(text, where, limits, problems)) {
        return *std::move(document);
    }
    const std::string all = problems.status().message();
    return Status::input(all.substr(0, all.find('\n')) + "; compile the model again, or ask its author");
}

} // namespace longwave::cli
