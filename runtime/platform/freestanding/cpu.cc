// Where no system says what an ARM CPU has: who builds the firmware knows its CPU.
#include "runtime/platform/cpu.h"
#include "runtime/platform/x86_64.h"

namespace longwave::platform {

artifact::Host host() {
    using namespace artifact;
    Host host;
    host.machine = own_machine;
#if defined(__x86_64__)
    host.features = x86_64_features();
#elif defined(__aarch64__)
    host.features = known_features;
#elif defined(__arm__) && __ARM_ARCH_PROFILE == 'M' // no code of the other profile runs there
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
    host.features = feature_helium;
#endif
#elif defined(__arm__)
    host.features = known_features & ~uint64_t{feature_helium};
#endif
    return host;
}

} // namespace longwave::platform
