#include "runtime/platform/cpu.h"
#include "runtime/platform/x86_64.h"
#if defined(__aarch64__) || defined(__arm__)
#include <sys/auxv.h>
#endif

namespace longwave::platform {

artifact::Host host() {
    using namespace artifact;
    Host host;
    host.machine = own_machine;
#if defined(__x86_64__)
    host.features = x86_64_features();
#elif defined(__aarch64__)
    const unsigned long bits = getauxval(AT_HWCAP);
    if (bits >> 10 & 1) host.features |= feature_arm_fp16; // HWCAP_ASIMDHP
    if (bits >> 20 & 1) host.features |= feature_arm_dotprod;
    if (bits >> 22 & 1) host.features |= feature_arm_sve;
#elif defined(__arm__)
    const unsigned long bits = getauxval(AT_HWCAP);
    if (bits >> 12 & 1) host.features |= feature_neon;       // HWCAP_NEON
    if (bits >> 16 & 1) host.features |= feature_vfp4;       // HWCAP_VFPv4
    if (bits >> 17 & 1) host.features |= feature_arm_divide; // HWCAP_IDIVA
#endif
    return host;
}

} // namespace longwave::platform
