// What a system must know of kernels: how they are called, and the thread while they run.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace longwave::platform {

// Code for x86-64 is called as on Linux wherever it runs, so one file serves every system. The caller's
// compiler saves what its own convention promises beyond that.
#if defined(_WIN32) && defined(__x86_64__)
using KernelFunction = int(__attribute__((sysv_abi)) *)(void **args);
#else
using KernelFunction = int (*)(void **args);
#endif

// Stack that a kernel and what it calls may use. Their code does not touch page after page of it.
inline constexpr uint64_t kernel_stack_bytes = 64 << 10;

#ifdef _WIN32
// Windows gives a thread one page of stack after the other, and only in order. Has it give all that a kernel
// may use, before the first of them runs.
void prepare_stack();
#else
inline void prepare_stack() {} // any page of the stack may be the next
#endif

// While it lives, the stack is prepared, and denormals are flushed to zero: a decaying state must not make a
// block ten times slower. Restores the caller's mode.
class KernelMode {
public:
#if defined(__x86_64__)
    KernelMode() : saved_(_mm_getcsr()) {
        prepare_stack();
        _mm_setcsr(static_cast<unsigned>(saved_) | 0x8040); // FTZ, DAZ
    }
    ~KernelMode() { _mm_setcsr(static_cast<unsigned>(saved_)); }
#elif defined(__aarch64__)
    KernelMode() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        const uint64_t mode = saved_ | 1ull << 24; // FZ
        __asm__ volatile("msr fpcr, %0" ::"r"(mode));
    }
    ~KernelMode() { __asm__ volatile("msr fpcr, %0" ::"r"(saved_)); }
#elif defined(__arm__) && defined(__ARM_FP)
    // NEON always flushes; this is for the other instructions of the floating-point unit.
    KernelMode() {
        uint32_t mode;
        __asm__ volatile("vmrs %0, fpscr" : "=r"(mode));
        saved_ = mode;
        __asm__ volatile("vmsr fpscr, %0" ::"r"(mode | 1u << 24)); // FZ
    }
    ~KernelMode() { __asm__ volatile("vmsr fpscr, %0" ::"r"(static_cast<uint32_t>(saved_))); }
#else
    KernelMode() : saved_(0) {}
    ~KernelMode() {}
#endif
    KernelMode(const KernelMode &) = delete;
    KernelMode &operator=(const KernelMode &) = delete;

private:
    uint64_t saved_;
};

} // namespace longwave::platform
