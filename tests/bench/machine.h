// Where a benchmark runs.
#pragma once
#include <string>

namespace longwave::bench {

void pin_to_this_processor(); // the calling thread
std::string cpu_name();       // "unknown" where the system does not tell

} // namespace longwave::bench
