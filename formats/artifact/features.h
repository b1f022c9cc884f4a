// CPU features a code variant may need, as bits of CodeVariant.features. The numbers are part of
// the format: append, never renumber.
#pragma once
#include <cstdint>

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

// A CPU; the reader's own is platform::host() (runtime/platform/cpu.h).
struct Host {
    uint16_t machine = 0; // 0: none of the machines above
    uint64_t features = 0;
};

// The machine that this file is compiled for. 0: none of the machines above.
inline constexpr uint16_t own_machine =
#if defined(__x86_64__)
    machine_x86_64;
#elif defined(__aarch64__)
    machine_aarch64;
#elif defined(__arm__)
    machine_arm;
#elif defined(__wasm__)
    machine_wasm32;
#else
    0;
#endif

} // namespace longwave::artifact
