#include "schedules/registry.h"
#include <map>

namespace longwave::schedules {

namespace {

// Made by whichever file comes first: the order of initialisation among files is open.
std::map<std::string, BuildFunction> &table() {
    static std::map<std::string, BuildFunction> kernels;
    return kernels;
}

} // namespace

Kernel::Kernel(const char *name, BuildFunction build) { table().emplace(name, build); }

BuildFunction find_kernel(const std::string &name) {
    const auto found = table().find(name);
    return found == table().end() ? nullptr : found->second;
}

} // namespace longwave::schedules
