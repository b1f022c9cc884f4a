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

} // namespace longwave::targets
