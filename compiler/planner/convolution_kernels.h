// The long convolution's kernel rule: taps and spectra in the prepare entry, then one of the planner's algorithms.
#pragma once
#include "compiler/planner/kernel_call.h"

namespace longwave::compiler {
Status long_conv_kernel(KernelCall &call);
}
