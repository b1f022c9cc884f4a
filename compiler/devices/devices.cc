#include "compiler/devices/traits.h"
#include <algorithm>

namespace longwave::devices {

const std::vector<Traits> &all() {
    static const std::vector<Traits> devices = [] {
        std::vector<Traits> list;
        for (const targets::Target &target : targets::gpus()) list.push_back(vulkan(target));
        return list;
    }();
    return devices;
}

const Traits *find(const std::vector<Traits> &devices, std::string_view name) {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const Traits &device) { return device.name == name; });
    return found == devices.end() ? nullptr : &*found;
}

} // namespace longwave::devices
