// CPU features a code variant may need, as bits of CodeVariant.features. The numbers are part of
// the format: append, never renumber.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <cpuid.h>
#elif (defined(__aarch64__) || defined(__arm__)) && defined(__linux__) && !defined(LW_FREESTANDING)
#include <sys/auxv.h>
#endif

namespace longwave::artifact {

// ELF e_machine. WebAssembly has none; its number is one that ELF leaves to everyone.
enum Machine : uint16_t {
    machine_arm = 40,
    machine_x86_64 = 62,
    machine_aarch64 = 183,
    machine_wasm32 = 0xff20
};

enum Feature : uint64_t {
    // x86-64; the baseline (SSE2) has no bit
    feature_sse3 = 1ull << 0,
    feature_ssse3 = 1ull << 1,
    feature_sse41 = 1ull << 2,
    feature_sse42 = 1ull << 3,
    feature_popcnt = 1ull << 4,
    feature_cx16 = 1ull << 5,
    feature_lahf = 1ull << 6,
    feature_avx = 1ull << 7,
    feature_avx2 = 1ull << 8,
    feature_bmi1 = 1ull << 9,
    feature_bmi2 = 1ull << 10,
    feature_f16c = 1ull << 11,
    feature_fma = 1ull << 12,
    feature_lzcnt = 1ull << 13,
    feature_movbe = 1ull << 14,
    feature_avx512f = 1ull << 15,
    feature_avx512bw = 1ull << 16,
    feature_avx512cd = 1ull << 17,
    feature_avx512dq = 1ull << 18,
    feature_avx512vl = 1ull << 19,
    feature_avx512ifma = 1ull << 20,
    feature_avx512vbmi = 1ull << 21,
    feature_avx512vbmi2 = 1ull << 22,
    feature_avx512vnni = 1ull << 23,
    feature_avx512bitalg = 1ull << 24,
    feature_avx512vpopcntdq = 1ull << 25,
    feature_avx512bf16 = 1ull << 26,
    feature_gfni = 1ull << 27,
    feature_vaes = 1ull << 28,
    feature_vpclmulqdq = 1ull << 29,
    feature_sse4a = 1ull << 30,
    feature_sha = 1ull << 31,
    // arm64; the baseline (NEON, float32 FMA) has no bit
    feature_arm_fp16 = 1ull << 32,
    feature_arm_dotprod = 1ull << 33,
    feature_arm_sve = 1ull << 34,
    // arm (32 bits)
    feature_neon = 1ull << 35,
    feature_vfp4 = 1ull << 36,       // fused multiply-add
    feature_helium = 1ull << 37,     // M profile: Thumb code, with vectors of float32 (MVE)
    feature_arm_divide = 1ull << 38, // integers, in ARM code
};

inline constexpr uint64_t x86_64_v2 = feature_sse3 | feature_ssse3 | feature_sse41 | feature_sse42 |
                                      feature_popcnt | feature_cx16 | feature_lahf;
inline constexpr uint64_t x86_64_v3 = x86_64_v2 | feature_avx | feature_avx2 | feature_bmi1 | feature_bmi2 |
                                      feature_f16c | feature_fma | feature_lzcnt | feature_movbe;
inline constexpr uint64_t x86_64_v4 =
    x86_64_v3 | feature_avx512f | feature_avx512bw | feature_avx512cd | feature_avx512dq | feature_avx512vl;
// What compilers take for granted on AMD Zen 4.
inline constexpr uint64_t x86_64_zen4 = x86_64_v4 | feature_avx512ifma | feature_avx512vbmi |
                                        feature_avx512vbmi2 | feature_avx512vnni | feature_avx512bitalg |
                                        feature_avx512vpopcntdq | feature_avx512bf16 | feature_gfni |
                                        feature_vaes | feature_vpclmulqdq | feature_sse4a | feature_sha;
inline constexpr uint64_t known_features = x86_64_zen4 | feature_arm_fp16 | feature_arm_dotprod |
                                           feature_arm_sve | feature_neon | feature_vfp4 | feature_helium |
                                           feature_arm_divide;

struct Host {
    uint16_t machine = 0; // 0: none of the machines above
    uint64_t features = 0;
};

// What this CPU has *and* its operating system saves across context switches: a bit is set only
// when code may use it.
inline Host host() {
    Host result;
#if defined(__x86_64__)
    result.machine = machine_x86_64;
    auto has = [&result](uint32_t reg, int bit, uint64_t feature) {
        if (reg >> bit & 1) result.features |= feature;
    };
    uint32_t a = 0, b = 0, c = 0, d = 0, low = 0, high = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return result;
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
#elif defined(__aarch64__)
    result.machine = machine_aarch64;
#if defined(LW_FREESTANDING)
    result.features = known_features; // nobody says; who builds the firmware knows its CPU
#elif defined(__linux__)
    const unsigned long bits = getauxval(AT_HWCAP);
    if (bits >> 10 & 1) result.features |= feature_arm_fp16; // HWCAP_ASIMDHP
    if (bits >> 20 & 1) result.features |= feature_arm_dotprod;
    if (bits >> 22 & 1) result.features |= feature_arm_sve;
#endif
#elif defined(__arm__)
    result.machine = machine_arm;
#if defined(LW_FREESTANDING) && __ARM_ARCH_PROFILE == 'M' // no code of the other profile runs there
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
    result.features = feature_helium;
#endif
#elif defined(LW_FREESTANDING)
    result.features = known_features & ~uint64_t{feature_helium}; // as above
#elif defined(__linux__)
    const unsigned long bits = getauxval(AT_HWCAP);
    if (bits >> 12 & 1) result.features |= feature_neon;       // HWCAP_NEON
    if (bits >> 16 & 1) result.features |= feature_vfp4;       // HWCAP_VFPv4
    if (bits >> 17 & 1) result.features |= feature_arm_divide; // HWCAP_IDIVA
#endif
#elif defined(__wasm__)
    result.machine = machine_wasm32;
#endif
    return result;
}

} // namespace longwave::artifact
