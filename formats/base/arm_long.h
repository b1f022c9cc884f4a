/* Functions that compilers of 32-bit ARM call for 64-bit integers: division, and conversion to and
 * from float64. The CPU has no instruction for them. Names and registers are those of Arm's
 * run-time ABI (RTABI32). Arguments and results lie in general registers. A division leaves the
 * quotient in r0 and r1, and the rest in r2 and r3.
 *
 * For C and C++. Define LW_ARM_LONG first: the attributes of the functions, such as
 * __attribute__((weak)).
 */
#pragma once
#include <stdint.h>

#define LW_ARM_HELPER LW_ARM_LONG __attribute__((used, pcs("aapcs")))

/* By digits of 16 bits, or bit by bit. Divided by zero: zero, as the CPU does it. */
LW_ARM_LONG __attribute__((used, visibility("hidden"))) uint64_t lw_arm_divide(uint64_t n, uint64_t d,
                                                                               uint64_t *rest) {
    uint64_t quotient = 0, left = 0;
#if defined(__ARM_FEATURE_IDIV)
    if (d >> 16 == 0 && d != 0) {
        const uint32_t by = (uint32_t)d;
        uint32_t over = 0;
        for (int at = n >> 32 ? 48 : 16; at >= 0; at -= 16) {
            const uint32_t digits = over << 16 | (uint32_t)(n >> at & 0xffff), part = digits / by;
            over = digits - part * by;
            quotient = quotient << 16 | part;
        }
        *rest = over;
        return quotient;
    }
#endif
    for (int bit = n >> 32 ? 63 : 31; bit >= 0 && d != 0; --bit) {
        const uint64_t carry = left >> 63;
        left = left << 1 | (n >> bit & 1);
        quotient <<= 1;
        if (!carry && left < d) continue;
        left -= d;
        quotient |= 1;
    }
    *rest = left;
    return quotient;
}

/* The rest has the sign of the dividend. */
LW_ARM_LONG __attribute__((used, visibility("hidden"))) int64_t lw_arm_divide_signed(int64_t n, int64_t d,
                                                                                     int64_t *rest) {
    uint64_t left;
    const uint64_t quotient =
        lw_arm_divide(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, d < 0 ? 0 - (uint64_t)d : (uint64_t)d, &left);
    *rest = (int64_t)(n < 0 ? 0 - left : left);
    return (int64_t)((n < 0) != (d < 0) ? 0 - quotient : quotient);
}

#define LW_ARM_BOTH(divide)                                                                                  \
    __asm__("push {r6, lr}\nsub sp, sp, #16\nadd r6, sp, #8\nstr r6, [sp]\nbl " divide                       \
            "\nldr r2, [sp, #8]\nldr r3, [sp, #12]\nadd sp, sp, #16\npop {r6, pc}\n")
LW_ARM_LONG __attribute__((naked, used)) void __aeabi_uldivmod(void) { LW_ARM_BOTH("lw_arm_divide"); }
LW_ARM_LONG __attribute__((naked, used)) void __aeabi_ldivmod(void) { LW_ARM_BOTH("lw_arm_divide_signed"); }

/* The upper half is exact, so only the sum rounds. */
LW_ARM_HELPER double __aeabi_ul2d(uint64_t n) {
    return (double)(uint32_t)(n >> 32) * 0x1p32 + (double)(uint32_t)n;
}
LW_ARM_HELPER double __aeabi_l2d(int64_t n) {
    return (double)(int32_t)(n >> 32) * 0x1p32 + (double)(uint32_t)n;
}
LW_ARM_HELPER uint64_t __aeabi_d2ulz(double x) {
    const uint32_t high = (uint32_t)(x * 0x1p-32);
    return (uint64_t)high << 32 | (uint32_t)(x - (double)high * 0x1p32);
}
LW_ARM_HELPER int64_t __aeabi_d2lz(double x) {
    const uint64_t size = __aeabi_d2ulz(x < 0 ? -x : x);
    return (int64_t)(x < 0 ? 0 - size : size);
}
