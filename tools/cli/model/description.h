// What a compiled model contains, as JSON: `longwave inspect --json`.
#pragma once
#include "formats/artifact/schema.h"
#include "tools/cli/model/artifact_file.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// `path`: for messages. `steps`: also every step of every entry. Fault::input: the compile report
// or the certificates are not JSON, or exceed the limits of parse_limited.
Expected<nlohmann::ordered_json> description_of(const ArtifactFile &file, const std::string &path,
                                                bool steps);

// What a segment of the file holds: "weights", "code for x86-64-v3".
std::string part_name(const fb::Plan &plan, uint32_t segment);

// Names of kernels in a compiled model, for people.

struct KernelText {
    std::string name;       // "linear"
    std::string parameters; // "in 96, out 192, rows 1, then relu": the rest of the specification
};

// From the specification of the kernel, which is untrusted text. A specification that is not JSON
// is its own name.
KernelText kernel_text(const fb::Plan &plan, uint32_t kernel);

} // namespace longwave::cli
