// What a compiled model contains, as JSON: `longwave inspect --json`.
#pragma once
#include "tools/cli/model/artifact_file.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// `path`: for messages. `steps`: also every step of every entry. Fault::input: the compile report
// or the certificates are no JSON, or exceed the limits of limited_json.h.
Expected<nlohmann::ordered_json> description_of(const ArtifactFile &file, const std::string &path,
                                                bool steps);

// What a segment of the file holds: "weights", "code for x86-64-v3".
std::string part_name(const fb::Plan &plan, uint32_t segment);

} // namespace longwave::cli
