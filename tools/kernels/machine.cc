#include "tools/kernels/machine.h"
#include <algorithm>
#include <fstream>
#include <sched.h>

namespace longwave::kernels {

namespace {

// The first value of a line of /proc/cpuinfo.
std::string cpu_field(const std::string &name) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(':'), end = line.find_last_not_of(" \t", colon - 1);
        if (colon != std::string::npos && line.substr(0, end + 1) == name && line.size() > colon + 2)
            return line.substr(colon + 2);
    }
    return "unknown";
}

double quantile(std::vector<double> values, size_t part, size_t of) {
    if (values.empty()) return 0;
    const auto at = values.begin() + static_cast<ptrdiff_t>(values.size() * part / of);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

} // namespace

void pin_to_this_cpu() {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
}

std::string cpu_name() {
    const std::string name = cpu_field("model name");
    return name != "unknown" ? name : cpu();
}

std::string cpu() {
    if (const std::string maker = cpu_field("CPU implementer"); maker != "unknown") // ARM
        return "implementer " + maker + " part " + cpu_field("CPU part");
    return cpu_field("vendor_id") + " family " + cpu_field("cpu family") + " model " + cpu_field("model");
}

double lower_quartile(std::vector<double> times) { return quantile(std::move(times), 1, 4); }
double median(std::vector<double> values) { return quantile(std::move(values), 1, 2); }

} // namespace longwave::kernels
