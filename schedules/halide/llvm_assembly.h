// LLVM assembly that Halide wrote for one machine, for a clang that compiles it for another.
#pragma once
#include <string>

namespace longwave::schedules {

// The same functions without a machine: no triple, CPU or features, so that the flags of clang
// decide. Attributes that clang 19 cannot read yet are left out too. They are promises to the
// optimiser, and code without them means the same.
std::string without_machine(const std::string &assembly);

} // namespace longwave::schedules
