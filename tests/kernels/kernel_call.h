// Kernels as the runtime sees them, under the name that tests have for it.
#pragma once
#include "tools/kernels/kernel_call.h"

namespace longwave::test {
using namespace kernels;
}
