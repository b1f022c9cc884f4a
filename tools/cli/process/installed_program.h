// Programs that are installed in the same folder as this one, such as the kernel compiler.
#pragma once
#include "formats/base/expected.h"
#include <string>

namespace longwave::cli {

Expected<std::string> installed_program(const std::string &name); // Fault::device: not found
inline Expected<std::string> installed_kgen() { return installed_program("longwave-kgen"); }

} // namespace longwave::cli
