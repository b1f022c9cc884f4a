#include "runtime/platform/cpu.h"
#include "runtime/platform/x86_64.h"
#ifndef __x86_64__
#error "Windows on other machines keeps register x18, which the code for ARM uses"
#endif

namespace longwave::platform {

uint64_t features() { return x86_64_features(); }

} // namespace longwave::platform
