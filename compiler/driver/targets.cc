#include "compiler/driver/targets.h"
#include "formats/artifact/features.h"
#include <fmt/format.h>

namespace longwave::compiler {

Expected<Targets> find_targets(const std::vector<std::string> &names) {
    Targets found;
    for (const auto &name : names) {
        if (const auto *target = targets::find(name)) {
            found.cpus.push_back(*target);
            continue;
        }
        const auto *gpu = targets::find_gpu(name);
        if (!gpu) {
            std::string known;
            for (const auto *list : {&targets::all(), &targets::gpus()})
                for (const auto &t : *list) known += (known.empty() ? "" : ", ") + t.name;
            return Status::usage(fmt::format("unknown target \"{}\": expected {}", name, known));
        }
        if (found.gpu)
            return Status::usage(
                fmt::format("targets {} and {}: an artifact has code for one of them at most",
                            found.gpu->name, gpu->name));
        found.gpu = gpu;
    }
    // What prepares the model, and streams: an artifact always has code for CPUs.
    if (found.cpus.empty()) found.cpus = targets::for_machine(artifact::host().machine);
    if (found.cpus.empty())
        return Status::usage("none of the targets is of this machine's architecture: name one (--target)");
    return found;
}

} // namespace longwave::compiler
