// The function of one part of a chain, for one of its workgroups: its accesses go to the buffers of
// the stream and to its own piece of shared memory.
#pragma once
#include "compiler/spirv/chain_code.h"
#include "compiler/spirv/chain_shared.h"

namespace longwave::spirv {

// What a part's function is given in its chain. Values are ids.
struct ChainBody {
    const Module &part;                            // its ids are those of the chain
    const std::map<uint32_t, uint32_t> &offsets;   // by variable: what is added to its indices
    const std::map<uint32_t, SharedArray> &shared; // by variable
    uint32_t slots = 1;                            // workgroups side by side in shared memory
    uint32_t slot = 0;                             // number of the workgroup among them
    uint32_t group = 0, thread = 0;                // coordinates
    uint32_t exists = 0;                           // whether there is such a workgroup; 0: there is
};

// Ends with a branch to `end`. A workgroup that does not exist stores nothing. Throws Fault for code
// of another form.
void write_body(const ChainBody &body, uint32_t end, ChainCode &code);

} // namespace longwave::spirv
