#include "tools/cli/check/artifact_check.h"
#include "targets/target.h"
#include "tools/cli/model/model.h"
#include "tools/kernels/kernel_call.h"
#include <algorithm>

namespace longwave::cli {

bool ArtifactCheck::hold() const {
    return std::all_of(streams.begin(), streams.end(), [](const StreamCheck &c) { return c.holds(); }) &&
           std::all_of(walks.begin(), walks.end(), [](const EntryCheck &w) { return w.holds(); });
}

Expected<ArtifactCheck> check_artifact(const std::vector<uint8_t> &artifact,
                                       const nlohmann::ordered_json &report, unsigned walks) {
    return check_artifact([&](const std::string &target) { return Model::open(artifact, target); }, report,
                          walks);
}

Expected<ArtifactCheck> check_artifact(const OpenForTarget &open, const nlohmann::ordered_json &report,
                                       unsigned walks, const Emulators &emulators) {
    ArtifactCheck result;
    std::vector<Model> models;
    bool foreign = false;
    if (!report.contains("targets")) return result;
    for (const auto &target : report["targets"]) {
        const std::string name = target["name"];
        const targets::Target *cpu = targets::find(name);
        const bool here = !cpu || kernels::host_runs(*cpu);
        if (!here && !emulators.contains(name)) {
            result.elsewhere.push_back(name);
            continue;
        }
        auto model = open(name);
        // Also where memory is short: what is not checked must not be written.
        if (!model) return model.status();
        double worst = 0;
        LW_TRY(model->verify(&worst));
        if (!here) result.golden.emplace_back(name, worst);
        foreign |= !here;
        if (!model->info.has_stream) continue;
        for (uint32_t entry = 0; entry < model->info.stream_entries; entry++) {
            LW_ASSIGN(StreamCheck stream, check_stream(*model, here ? 20 : 4, entry));
            result.streams.push_back(std::move(stream));
        }
        models.push_back(*std::move(model)); // their entries are tested together
    }
    if (!models.empty() && (models[0].info.stream_entries > 1 || (foreign && models.size() > 1))) {
        LW_ASSIGN(EntryCheck walk, check_entries(models, walks));
        result.walks.push_back(std::move(walk));
    }
    return result;
}

} // namespace longwave::cli
