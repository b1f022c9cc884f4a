// --device auto: the faster of the CPU and the GPU, by measured times that include transfers.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace longwave::cli {

struct Model;
struct ModelFlags;

// Medians in seconds: of an offline run of full length, or of a block of the default stream entry.
struct Costs {
    double cpu = 0, gpu = 0;
    std::string of; // "run of 1024 ticks"
    bool remembered = false;
};

struct Placement {
    std::string device;         // name of the chosen device; "cpu"
    std::string reason;         // one line for users
    std::optional<Costs> costs; // empty if there was no choice
};

// Opens the model on the faster device. The CPU is taken if no GPU can run the command
// (flags.streams) or reproduces the golden vectors; Model::placement then has the reason.
Expected<Model> open_placed(const ModelFlags &flags);

nlohmann::ordered_json to_json(const Placement &placement);

} // namespace longwave::cli
