// The targets that a compile was asked for, by name.
#pragma once
#include "compiler/devices/traits.h"
#include "formats/base/expected.h"
#include "targets/target.h"
#include <string>
#include <vector>

namespace longwave::compiler {

struct Targets {
    std::vector<targets::Target> cpus;
    const devices::Traits *device = nullptr; // besides them; null: none was asked for
};

// Errors: Fault::usage for names that are none, two devices, or a machine that none of the targets
// is for.
Expected<Targets> find_targets(const std::vector<std::string> &names,
                               const std::vector<devices::Traits> &devices);

} // namespace longwave::compiler
