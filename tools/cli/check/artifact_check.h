// What `compile` checks before it writes a file: golden vectors and streams on every target that runs here.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/check/entry_switching.h"
#include "tools/cli/check/streaming_check.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

struct ArtifactCheck {
    std::vector<StreamCheck> streams;
    std::vector<EntryCheck> walks;
    std::vector<std::string> elsewhere; // targets this machine cannot run
    bool hold() const;
};

// `report`: the compile report, which names the targets. Errors (Fault::check): a golden vector does not hold.
Expected<ArtifactCheck> check_artifact(const std::vector<uint8_t> &artifact, const nlohmann::ordered_json &report,
                                       unsigned walks);

} // namespace longwave::cli
