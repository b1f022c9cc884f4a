// The CPU's floating-point mode while kernels run.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace longwave::platform {

// While it lives, denormals are flushed to zero: a decaying state must not make a block ten times
// slower. Restores the caller's mode.
class FlushDenormals {
public:
#if defined(__x86_64__)
    FlushDenormals() : saved_(_mm_getcsr()) {
        _mm_setcsr(static_cast<unsigned>(saved_) | 0x8040);
    } // FTZ, DAZ
    ~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(saved_)); }
#elif defined(__aarch64__)
    FlushDenormals() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        const uint64_t mode = saved_ | 1ull << 24; // FZ
        __asm__ volatile("msr fpcr, %0" ::"r"(mode));
    }
    ~FlushDenormals() { __asm__ volatile("msr fpcr, %0" ::"r"(saved_)); }
#elif defined(__arm__) && defined(__ARM_FP)
    // NEON always flushes; this is for the other instructions of the floating-point unit.
    FlushDenormals() {
        uint32_t mode;
        __asm__ volatile("vmrs %0, fpscr" : "=r"(mode));
        saved_ = mode;
        __asm__ volatile("vmsr fpscr, %0" ::"r"(mode | 1u << 24)); // FZ
    }
    ~FlushDenormals() { __asm__ volatile("vmsr fpscr, %0" ::"r"(static_cast<uint32_t>(saved_))); }
#else
    FlushDenormals() : saved_(0) {}
    ~FlushDenormals() {}
#endif
    FlushDenormals(const FlushDenormals &) = delete;
    FlushDenormals &operator=(const FlushDenormals &) = delete;

private:
    uint64_t saved_;
};

} // namespace longwave::platform
