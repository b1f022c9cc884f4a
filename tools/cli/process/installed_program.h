// The kernel compiler is a program of its own, installed beside this one.
#pragma once
#include "formats/base/expected.h"
#include <string>

namespace longwave::cli {

Expected<std::string> beside_this_program(const std::string &name); // Fault::device when it is not there
inline Expected<std::string> kgen_beside_this_program() { return beside_this_program("longwave-kgen"); }

} // namespace longwave::cli
