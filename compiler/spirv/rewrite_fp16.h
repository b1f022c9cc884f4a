// Buffers whose elements lie in memory as float16, for kernels that were made for float32. No Halide.
#pragma once
#include "schedules/contract/kernel.h"
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace longwave::schedules {

struct Fp16Kernel {
    std::vector<uint32_t>
        words;             // the module; the device must have storageBuffer16BitAccess (VK_KHR_16bit_storage)
    uint32_t overflow = 0; // binding of the word that tells of an overflow, behind all others
};

// The same module, for which an element of the buffers with these bindings is a float16 (IEEE 754 binary16): widened as
// it is read, rounded to the nearest, ties to even, as it is written; what lies between stays float32. A thread
// that writes what no float16 holds (beyond 65,504, or not a number) sets the word of one more storage buffer to 1.
// Needs: one function; these buffers in set 0, each a struct of one runtime array of float32 of its own, its elements
// loaded and stored one by one. Throws std::invalid_argument for any other module.
Fp16Kernel for_fp16(const std::vector<uint32_t> &words, const std::set<uint32_t> &bindings);

// Whether what a kernel of a gpu takes (an input) or gives (an output) may be stored so; what it updates in place and
// its weights may not. No for powers and sums over all rows, which reach beyond float16, for exponents and decays, whose
// errors grow, and for kernels that the table (halves.cc) lacks.
bool stores_fp16(std::string_view kernel, ArgKind kind);

} // namespace longwave::schedules
