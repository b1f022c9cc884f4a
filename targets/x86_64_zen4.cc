// AVX-512 with integer products of four bytes (VNNI): AMD since Zen 4, 2022. Only where it is asked
// for: with float32 weights its kernels are no faster than those of x86-64-v4.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

// Halide's name for this CPU brings instructions that no other maker has (SSE4a), so code for it
// asks for all of them.
Target x86_64_zen4() {
    Target target = x86_64_v4();
    target.name = "x86-64-zen4";
    target.halide += "-avx512_cannonlake-avx512_zen4";
    target.features = artifact::x86_64_zen4;
    target.by_name = true;
    return target;
}

} // namespace longwave::targets
