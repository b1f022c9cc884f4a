// Which artifacts a fuzzer may run: only those whose machine code is the test kernels' (tests/support/kernels.c), entered where the kernels begin, each with the
// argument list it was written for. A mutated plan around untouched code is then the only thing that is tried, and V12 the only thing that keeps it in bounds.
#pragma once
#include "formats/artifact/view.h"

namespace longwave::fuzz {

// False as well for kernels that follow indices in their input (token ids): what lies there is the compiler's promise, not the verifier's.
bool may_run(const artifact::View &view);

} // namespace longwave::fuzz
