// Functions that compilers call for 64-bit integers, so that firmware for M profile needs no library
// of theirs. Weak: a library of the compiler may have the same ones.
#if defined(LW_FREESTANDING) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define LW_ARM_LONG extern "C" __attribute__((weak))
#include "formats/base/arm_long.h"
#endif
