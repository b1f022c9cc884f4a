// The stack that a kernel needs, from its object.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <cstdint>
#include <vector>

namespace longwave::compiler {

// Bytes of stack of all functions in the object together, from the sections that clang writes with
// -fstack-size-section. A kernel never calls a function twice at a time, so it needs at most these.
// 0: the object has no such section, as those that Halide itself writes.
Expected<uint64_t> stack_bytes(const std::vector<uint8_t> &object, const targets::Target &target);

} // namespace longwave::compiler
