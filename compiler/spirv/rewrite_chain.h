// Several kernels in one dispatch, one after another: rewrites GPU kernels that were compiled one
// by one for one stream. One workgroup computes all of them for one stream, so a barrier of its
// threads stands where a kernel reads what one before it wrote.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace longwave::spirv {

// Where a buffer of a kernel lies: a descriptor of the chain, and the word of a stream's row that
// says how many words precede its first element.
struct ChainBuffer {
    uint32_t descriptor = 0, word = 0;
    bool changes = false; // some kernel of the chain writes through the descriptor
};

struct ChainPart {
    std::vector<uint32_t> words;      // the module
    std::array<uint32_t, 3> grid{};   // its workgroups
    std::vector<ChainBuffer> buffers; // by binding
    std::optional<uint32_t> scalars;  // their binding, when the module has one
    bool waits = false;               // it reads or overwrites what one before it touched
};

struct ChainedModule {
    std::vector<uint32_t> words;
    uint32_t shared_bytes = 0;
};

// The threads of the workgroup that serves the parts best, at most `most`; 0: some part needs more.
uint32_t chain_threads(const std::vector<ChainPart> &parts, uint32_t most);

// A dispatch of 1 x 1 x streams workgroups. Workgroup z reads row z of the table of streams: `row`
// words for each stream, in descriptor `table`. The scalars of a part lie there from its word on.
// As many workgroups of a part as fit run side by side, the others in turn. Needs of each part what
// rewrite_batch needs, and one access chain from variable to element. Throws spirv::Fault for other
// modules, and when the result is not valid.
ChainedModule rewrite_chain(const std::vector<ChainPart> &parts, uint32_t threads, uint32_t table,
                            uint32_t row);

} // namespace longwave::spirv
