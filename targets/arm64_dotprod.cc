// 64-bit ARM that multiplies int8 and adds four products in one instruction: since Armv8.2, optional
// there, and in every machine of Armv8.4.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

Target arm64_dotprod() {
    Target target = arm64();
    target.name = "arm64-dotprod";
    target.halide += "-armv82a-arm_dot_prod";
    target.features = artifact::feature_arm_dotprod;
    return target;
}

} // namespace longwave::targets
