// Butterflies of the right-angle transform (schedules/contract/register_transform.h) over points in
// registers. A radix is several levels. One of two splits a block z^2M − s² into z^M − s and z^M + s.
// One of three or five takes powers of s and a short Fourier transform.
#pragma once
#include "schedules/contract/register_transform.h"
#include "schedules/gpu/program.h"
#include <functional>
#include <span>

namespace longwave::gpu {

struct Complex {
    Float re, im;
};
Complex product(const Complex &a, const Complex &b);

using Roots = std::function<Complex(const schedules::RootKey &)>;

// As many points as the radix, in place. Levels of three and five ask for RootKey::power.
void butterfly(std::span<Complex> x, const Roots &root);
// The way back, times the radix. `constants`: every root is a constant, so a product of two costs
// nothing.
void butterfly_back(std::span<Complex> x, const Roots &root, bool constants);

} // namespace longwave::gpu
