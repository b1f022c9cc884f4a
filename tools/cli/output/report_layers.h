// The layers of a compile report as text: a line for each layer, with its ops, algorithms and
// kernels.
#pragma once
#include "tools/cli/output/report_value.h"
#include <string>

namespace longwave::cli {

// Neighbours that differ by the number in their name only share a line.
std::string report_layers(const ReportValue &report);

} // namespace longwave::cli
