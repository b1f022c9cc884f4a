// What the threads of a GPU kernel ask of memory: a model of a processor that has warps of 32
// lanes, reads global memory in sectors of 32 bytes and shared memory in 32 banks of 4 bytes.
#pragma once
#include "formats/spirv/module.h"
#include <cstdint>
#include <map>
#include <string>

namespace longwave::bench {

// All requests of one instruction kind to one buffer. A request is an instruction of a warp.
struct BufferRequests {
    uint64_t requests = 0, sectors = 0, elements = 0;
    uint32_t element_bytes = 4;
    // 4 is what 32 lanes need whose elements lie side by side; 1 where all lanes read one element.
    double sectors_per_4_bytes() const {
        return static_cast<double>(sectors) * 4 / (static_cast<double>(requests) * element_bytes);
    }
};

struct Simulation {
    std::map<std::string, BufferRequests> buffers; // by "load NAME" and "store NAME"
    // Of shared memory: a wavefront is what all banks can deliver at once.
    uint64_t shared_requests = 0, shared_wavefronts = 0, shared_ideal = 0;
    std::map<std::string, uint64_t> instructions; // of warps, by kind: float, integer, load, branch, ...
    uint64_t barriers = 0;
    bool complete = true; // false: the limit ended it
};

// Facts that show without running it.
struct ModuleFacts {
    bool float64 = false, int64 = false;
    bool indexed_private = false; // an array of a thread that some index needs in memory
};
ModuleFacts facts_of(const spirv::Module &module);

// Runs workgroup (0, 0, 0) in lock step. All buffers hold zeros, so a loop over a length that
// memory holds does not change. `limit`: instructions of a workgroup, after which it stops. Throws
// spirv::Fault for an instruction that it does not know, which our kernels do not have.
Simulation simulate(const spirv::Module &module, uint64_t limit);

} // namespace longwave::bench
