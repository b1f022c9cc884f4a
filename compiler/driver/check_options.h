// Checks the options of a compile before any work starts.
#pragma once
#include "compiler/driver/compile.h"
#include "compiler/driver/targets.h"
#include "compiler/plan/tuning.h"
#include "schedules/contract/weight_formats.h"

namespace longwave::compiler {

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
