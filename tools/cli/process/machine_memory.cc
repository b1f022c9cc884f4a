#include "tools/cli/process/machine_memory.h"
#include <algorithm>
#include <fstream>
#include <string>
#include <unistd.h>

namespace longwave::cli {
namespace {

// A limit in a file of the kernel, or none: the file is missing, or says "max".
uint64_t limit_in(const std::string &file) {
    uint64_t bytes = 0;
    return std::ifstream(file) >> bytes ? bytes : UINT64_MAX;
}

// Of the control group of this process and of those around it (version 2), or of the one that the
// process sees as the root (version 1).
uint64_t group_limit() {
    uint64_t least = std::min(limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
                              limit_in("/sys/fs/cgroup/memory.max"));
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        if (!line.starts_with("0::/")) continue;
        for (std::string group = line.substr(3); group.size() > 1; group.resize(group.rfind('/')))
            least = std::min(least, limit_in("/sys/fs/cgroup" + group + "/memory.max"));
    }
    return least;
}

} // namespace

uint64_t machine_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return 0;
    return std::min(static_cast<uint64_t>(pages) * static_cast<uint64_t>(page), group_limit());
}

} // namespace longwave::cli
