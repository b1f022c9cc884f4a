// The shared memory of a chain. Its parts use it one after another, so it is as large as that of
// the part that needs most.
#pragma once
#include "compiler/spirv/chain_module.h"

namespace longwave::spirv {

// An array of a part within the chain's array of the same elements.
struct SharedArray {
    uint32_t variable = 0, first = 0, length = 0; // of the chain; elements
};

class ChainShared {
public:
    // The arrays of the part by its variables, for `slots` workgroups side by side. Workgroup s has
    // the elements from first + s * length on.
    std::map<uint32_t, SharedArray> place(const Module &part, uint32_t slots, ChainModule &chain);
    // Declares what was placed. Returns its bytes.
    uint32_t declare(ChainModule &chain) const;

private:
    struct Pool {
        uint32_t variable = 0, length = 0;
    };
    std::map<uint32_t, Pool> pools_;     // by type of elements
    std::map<uint32_t, uint32_t> bytes_; // of types
};

} // namespace longwave::spirv
