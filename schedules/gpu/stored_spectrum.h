// The spectrum of a kernel in memory, two points of a thread in a four, and the product with it.
#pragma once
#include "schedules/gpu/butterflies.h"
#include <vector>

namespace longwave::gpu {

class StoredSpectrum {
public:
    // Fours of [threads, slots of the last pass / 2, all others]. `which`: of all others.
    StoredSpectrum(Program &program, const schedules::RegisterForm &form, Memory memory, Uint which)
        : p_(program), memory_(memory), threads_(form.threads()), pairs_(form.slots(form.last_pass()) / 2),
          which_(which) {}

    // Adds `scale` times the points x to the kernel.
    void add(const std::vector<Complex> &x, float scale) {
        for (size_t slot = 0; slot < x.size(); slot += 2)
            for (const Complex &point : load(slot)) {
                const Complex &made = x[kernel_.size()];
                const Float by = p_.f32(scale);
                kernel_.push_back({fma(made.re, by, point.re), fma(made.im, by, point.im)});
            }
    }

    void multiply(std::vector<Complex> &x) {
        for (size_t slot = 0; slot < x.size(); slot += 2) {
            const auto of = kernel_.empty() ? load(slot) : std::array{kernel_[slot], kernel_[slot + 1]};
            for (size_t i = 0; i < 2; i++) x[slot + i] = product(x[slot + i], of[i]);
        }
    }

private:
    std::array<Complex, 2> load(size_t slot) {
        // Here and not once before: an address that is known early takes a register for long.
        const Uint first = which_ * (pairs_ * threads_) + p_.thread();
        const Vec4 k = p_.load_vec4(memory_, first + static_cast<uint32_t>(slot / 2) * threads_);
        return {{{k[0], k[1]}, {k[2], k[3]}}};
    }

    Program &p_;
    const Memory memory_;
    const uint32_t threads_, pairs_;
    const Uint which_;
    std::vector<Complex> kernel_; // of both parts
};

} // namespace longwave::gpu
