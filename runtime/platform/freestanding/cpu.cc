// Where no system says what an ARM CPU has: who builds the firmware knows its CPU.
#include "runtime/platform/cpu.h"
#include "runtime/platform/x86_64.h"

namespace longwave::platform {

uint64_t features() {
#if defined(__x86_64__)
    return x86_64_features();
#elif defined(__aarch64__)
    return artifact::known_features;
#elif defined(__arm__) && __ARM_ARCH_PROFILE == 'M' // no code of the other profile runs there
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
    return artifact::feature_helium;
#else
    return 0;
#endif
#elif defined(__arm__)
    return artifact::known_features & ~uint64_t{artifact::feature_helium};
#else
    return 0;
#endif
}

} // namespace longwave::platform
