// Many streams in one dispatch: rewrites a GPU kernel that was compiled for one stream.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace longwave::spirv {

struct BatchedModule {
    std::vector<uint32_t> words;
    uint32_t table = 0; // binding of the table of streams: the last one
};

// Adds one storage buffer, the table of streams (formats/artifact/modules.fbs). A dispatch of
// `grid` workgroups becomes a dispatch of grid.z · streams workgroups along z. Workgroup z is
// workgroup z mod grid.z of the kernel for stream z / grid.z. The stream's row of the table says,
// per binding, how many words precede its first element; the module adds them to each index into
// that buffer. A row has bindings + `scalars` words. A row of zeros describes one stream whose
// buffers begin at their start. Needs: one function; storage buffers in set 0 with bindings 0 … n −
// 1, each a struct of one runtime array with elements of 4, 8 or 16 bytes, accessed by access
// chains only; workgroups known by WorkgroupId only. Throws spirv::Fault for other modules, and
// when the result is not valid (validate.h).
BatchedModule rewrite_batch(const std::vector<uint32_t> &words, const std::array<int, 3> &grid,
                            uint32_t scalars);

} // namespace longwave::spirv
