// --device auto: one of two devices, by what they were measured to take, transfers counted.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace longwave::cli {

struct Model;
struct ModelFlags;

// Medians of a few, in seconds: of a run of the whole capacity, or of a block of the default stream entry.
struct Costs {
    double cpu = 0, gpu = 0;
    std::string of; // "run of 1024 ticks"
    bool remembered = false;
};

struct Placement {
    std::string device;         // the one taken, by its name; "cpu"
    std::string reason;         // why, for people
    std::optional<Costs> costs; // none where there was no choice
};

// Opens the artifact where it is cheaper. Without a GPU that can do what the verb does (flags.streams) it is the
// processor, and Model::placement says why. A GPU that does not give the golden vectors is none.
Expected<Model> open_placed(const ModelFlags &flags);

nlohmann::ordered_json to_json(const Placement &placement);

} // namespace longwave::cli
