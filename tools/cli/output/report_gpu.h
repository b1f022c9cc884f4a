// What a compile report says of a GPU as text.
#pragma once
#include "tools/cli/output/report_value.h"
#include <string>

namespace longwave::cli {

// What runs there, layers that stay on the CPU, and algorithms of several dispatches. "" for files
// without a GPU.
std::string report_gpu(const ReportValue &report);

} // namespace longwave::cli
