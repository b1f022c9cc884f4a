// What `compile` checks before it writes a file: golden vectors and streams on every target that
// runs here.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/check/entry_switching.h"
#include "tools/cli/check/streaming_check.h"
#include "tools/cli/model/model.h"
#include "tools/cli/remote/emulators.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

struct ArtifactCheck {
    std::vector<StreamCheck> streams;
    std::vector<EntryCheck> walks;
    std::vector<std::string> elsewhere; // targets that this machine cannot run, nor an emulator
    std::vector<std::pair<std::string, double>> golden; // on emulators: target, largest error by its limit
    bool hold() const;
};

// `open` opens the artifact for a target: in this process, or under its emulator. `report`: the
// compile report, which names the targets. States pass between all targets that run, also when the
// model has one stream entry. Errors (Fault::check): a golden vector does not hold.
using OpenForTarget = std::function<Expected<Model>(const std::string &target)>;
Expected<ArtifactCheck> check_artifact(const OpenForTarget &open, const nlohmann::ordered_json &report,
                                       unsigned walks, const Emulators &emulators = {});
Expected<ArtifactCheck> check_artifact(const std::vector<uint8_t> &artifact,
                                       const nlohmann::ordered_json &report, unsigned walks);

} // namespace longwave::cli
