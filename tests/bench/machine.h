// Where a benchmark runs.
#pragma once
#include "tools/kernels/machine.h"

namespace longwave::bench {

using kernels::cpu_name;
using kernels::pin_to_this_cpu;

} // namespace longwave::bench
