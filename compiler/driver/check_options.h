// Checks the options of a compile before any work starts.
#pragma once
#include "compiler/devices/traits.h"
#include "compiler/driver/compile.h"
#include "compiler/plan/tuning.h"
#include "formats/base/expected.h"
#include "schedules/contract/weight_formats.h"
#include "targets/target.h"
#include <string>
#include <vector>

namespace longwave::compiler {

// The targets that a compile was asked for, by name.

struct Targets {
    std::vector<targets::Target> cpus;
    const devices::Traits *device = nullptr; // besides them; null: none was asked for
};

// Errors: Fault::usage for names that are none, two devices, or a machine that none of the targets
// is for.
Expected<Targets> find_targets(const std::vector<std::string> &names,
                               const std::vector<devices::Traits> &devices);

// The meaning of the options that are names or texts.
struct Request {
    Targets targets;
    Tuning tuning;
    schedules::WeightFormat weights{};
    bool byte_activations = false;
};

// Errors: Fault::usage for options that do not exist or exclude each other; as parse_tuning.
Expected<Request> check_options(const Options &options);

} // namespace longwave::compiler
