// Where something is measured.
#pragma once
#include <string>
#include <vector>

namespace longwave::kernels {

void pin_to_this_cpu(); // the calling thread
std::string cpu_name(); // "unknown" if the system does not report it
// "GenuineIntel family 6 model 207": the same on every machine with such a CPU, whatever its name.
std::string cpu();
double lower_quartile(std::vector<double> times); // below what interruptions add
double median(std::vector<double> values);

} // namespace longwave::kernels
