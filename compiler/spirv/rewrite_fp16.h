// Buffers whose elements memory holds as float16: rewrites a GPU kernel that was compiled for
// float32.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

namespace longwave::spirv {

struct Fp16Module {
    // The device must have storageBuffer16BitAccess (VK_KHR_16bit_storage).
    std::vector<uint32_t> words;
    uint32_t overflow = 0; // binding of the overflow word: the last one
};

// An element of the buffers with these bindings becomes a float16 (IEEE 754 binary16). Each read
// widens an element to float32, each write rounds it to the nearest, ties to even. Arithmetic stays
// float32. A thread that writes a value beyond 65,504, or not a number, sets the word of one more
// storage buffer to 1.
// Needs: one function; these buffers in set 0, each a struct of a runtime array of float32, or of
// fours of them, that no other struct holds, with elements that are loaded and stored one by one.
// Throws spirv::Fault for other modules, and when the result is not valid (validate.h).
Fp16Module rewrite_fp16(const std::vector<uint32_t> &words, const std::set<uint32_t> &bindings);

} // namespace longwave::spirv
