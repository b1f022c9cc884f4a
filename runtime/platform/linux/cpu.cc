#include "runtime/platform/cpu.h"
#include "runtime/platform/x86_64.h"
#if defined(__aarch64__) || defined(__arm__)
#include <sys/auxv.h>
#endif

namespace longwave::platform {

uint64_t features() {
    using namespace artifact;
#if defined(__x86_64__)
    return x86_64_features();
#elif defined(__aarch64__)
    const unsigned long bits = getauxval(AT_HWCAP);
    uint64_t found = 0;
    if (bits >> 10 & 1) found |= feature_arm_fp16; // HWCAP_ASIMDHP
    if (bits >> 20 & 1) found |= feature_arm_dotprod;
    if (bits >> 22 & 1) found |= feature_arm_sve;
    return found;
#elif defined(__arm__)
    const unsigned long bits = getauxval(AT_HWCAP);
    uint64_t found = 0;
    if (bits >> 12 & 1) found |= feature_neon;       // HWCAP_NEON
    if (bits >> 16 & 1) found |= feature_vfp4;       // HWCAP_VFPv4
    if (bits >> 17 & 1) found |= feature_arm_divide; // HWCAP_IDIVA
    return found;
#else
    return 0;
#endif
}

} // namespace longwave::platform
