// How much memory this process may have.
#pragma once
#include <cstdint>

namespace longwave::cli {

// Bytes of the machine, or of the control group of this process if that has a lower limit. 0: unknown.
uint64_t machine_memory();

} // namespace longwave::cli
