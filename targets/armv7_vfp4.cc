// 32-bit ARM with NEON, VFPv4 and integer division: Cortex-A7, A15, A17 and every Armv8 CPU.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

// Halide knows no such machine, and avoids the multiply-add of those that it knows. So clang makes the
// objects. It takes vmla, which rounds twice as two instructions do.
Target armv7_vfp4() {
    Target target = armv7();
    target.name = "armv7-vfp4";
    target.fused_multiply_add = true;
    target.features = artifact::feature_neon | artifact::feature_vfp4 | artifact::feature_arm_divide;
    target.by_name = true;
    target.clang = {"--target=armv7a-linux-gnueabihf", "-march=armv7ve", "-mfpu=neon-vfpv4",
                    "-mfloat-abi=hard"};
    return target;
}

} // namespace longwave::targets
