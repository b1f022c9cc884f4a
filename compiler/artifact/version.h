// Who made an artifact: program and the versions that decide its bytes.
#pragma once
#include <string>

namespace longwave::compiler {
inline std::string producer() { return "longwave 0.2.0, Halide 21.0.0"; }
} // namespace longwave::compiler
