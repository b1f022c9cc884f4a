#include "targets/target.h"

namespace longwave::targets {

const std::vector<Target> &all() {
    static const std::vector<Target> targets = {
        x86_64_v2(),
        x86_64_v3(),
        x86_64_v4(),
    };
    return targets;
}

const Target *find(std::string_view name) {
    for (const Target &target : all())
        if (target.name == name) return &target;
    return nullptr;
}

std::vector<Target> for_machine(uint16_t elf_machine) {
    std::vector<Target> found;
    for (const Target &target : all())
        if (target.elf_machine == elf_machine) found.push_back(target);
    return found;
}

} // namespace longwave::targets
