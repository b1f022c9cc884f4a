#include "compiler/driver/targets.h"
#include "formats/artifact/features.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace longwave::compiler {

static std::string known(const std::vector<devices::Traits> &devices) {
    std::vector<std::string> names;
    for (const targets::Target &cpu : targets::all()) names.push_back(cpu.name);
    for (const devices::Traits &device : devices) names.push_back(device.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

Expected<Targets> find_targets(const std::vector<std::string> &names,
                               const std::vector<devices::Traits> &devices) {
    Targets found;
    for (const auto &name : names) {
        if (const auto *target = targets::find(name)) {
            found.cpus.push_back(*target);
            continue;
        }
        const devices::Traits *device = devices::find(devices, name);
        if (!device)
            return Status::usage(fmt::format("unknown target \"{}\": expected {}", name, known(devices)));
        if (found.device)
            return Status::usage(fmt::format(
                "targets {} and {}: an artifact has code for one of them at most", found.device->name, name));
        found.device = device;
    }
    // What prepares the model, and streams: an artifact always has code for CPUs.
    if (found.cpus.empty()) found.cpus = targets::for_machine(artifact::own_machine);
    if (found.cpus.empty())
        return Status::usage("none of the targets is of this machine's architecture: name one (--target)");
    return found;
}

} // namespace longwave::compiler
