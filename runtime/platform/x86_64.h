// What a CPU of x86-64 says of itself, with and without an operating system.
#pragma once
#ifdef __x86_64__
#include "formats/artifact/features.h"
#include <cpuid.h>

namespace longwave::platform {

// Bits of artifact::Feature.
inline uint64_t x86_64_features() {
    using namespace artifact;
    uint64_t features = 0;
    auto has = [&features](uint32_t reg, int bit, uint64_t feature) {
        if (reg >> bit & 1) features |= feature;
    };
    uint32_t a = 0, b = 0, c = 0, d = 0, low = 0, high = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return features;
    has(c, 0, feature_sse3), has(c, 9, feature_ssse3), has(c, 19, feature_sse41), has(c, 20, feature_sse42);
    has(c, 23, feature_popcnt), has(c, 13, feature_cx16), has(c, 22, feature_movbe);
    if (c >> 27 & 1) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); // which registers the system saves
    const bool ymm = (low & 0x06) == 0x06, zmm = (low & 0xe6) == 0xe6;
    if (ymm) has(c, 28, feature_avx), has(c, 29, feature_f16c), has(c, 12, feature_fma);
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        has(b, 3, feature_bmi1), has(b, 8, feature_bmi2), has(b, 29, feature_sha), has(c, 8, feature_gfni);
        if (ymm) has(b, 5, feature_avx2), has(c, 9, feature_vaes), has(c, 10, feature_vpclmulqdq);
        if (zmm) {
            has(b, 16, feature_avx512f), has(b, 17, feature_avx512dq), has(b, 28, feature_avx512cd);
            has(b, 30, feature_avx512bw), has(b, 31, feature_avx512vl), has(b, 21, feature_avx512ifma);
            has(c, 1, feature_avx512vbmi), has(c, 6, feature_avx512vbmi2), has(c, 11, feature_avx512vnni);
            has(c, 12, feature_avx512bitalg), has(c, 14, feature_avx512vpopcntdq);
            if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) has(a, 5, feature_avx512bf16);
        }
    }
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
        has(c, 0, feature_lahf), has(c, 5, feature_lzcnt), has(c, 6, feature_sse4a);
    return features;
}

} // namespace longwave::platform
#endif
