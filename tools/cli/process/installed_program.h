// Programs that are installed in the same folder as this one, such as the kernel compiler.
#pragma once
#include "formats/base/expected.h"
#include <string>

namespace longwave::cli {

Expected<std::string> beside_this_program(const std::string &name); // Fault::device: not found
inline Expected<std::string> kgen_beside_this_program() { return beside_this_program("longwave-kgen"); }

} // namespace longwave::cli
