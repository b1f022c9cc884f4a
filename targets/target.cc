#include "targets/target.h"

namespace longwave::targets {

const std::vector<Target> &all() {
    static const std::vector<Target> targets = {
        x86_64_v2(), x86_64_v3(),  x86_64_v4(), x86_64_zen4(),   cortex_m55(),
        armv7(),     armv7_vfp4(), arm64(),     arm64_dotprod(), wasm32(),
    };
    return targets;
}

const std::vector<Target> &gpus() {
    static const std::vector<Target> targets = {
        vulkan_16k(),
        vulkan_32k(),
    };
    return targets;
}

static const Target *find_in(const std::vector<Target> &targets, std::string_view name) {
    for (const Target &target : targets)
        if (target.name == name) return &target;
    return nullptr;
}

const Target *find(std::string_view name) { return find_in(all(), name); }
const Target *find_gpu(std::string_view name) { return find_in(gpus(), name); }

std::vector<Target> for_machine(uint16_t elf_machine) {
    std::vector<Target> found;
    for (const Target &target : all())
        if (target.elf_machine == elf_machine && target.loads_code && !target.by_name)
            found.push_back(target);
    return found;
}

const char *kernel_suffix(std::string_view name) {
    if (find_gpu(name)) return ".spv";
    const Target *target = find(name);
    return target && !target->clang.empty() ? ".ll" : ".o";
}

} // namespace longwave::targets
