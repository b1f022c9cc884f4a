// Many streams in one dispatch: a kernel made for one, told where the memory of each begins. No Halide.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace longwave::schedules {

struct StreamsKernel {
    std::vector<uint32_t> words; // the module
    uint32_t table = 0;          // binding of the table, behind all others
};

// The same module with one more storage buffer, the table of streams (formats/artifact/modules.fbs). A dispatch of
// `grid` workgroups becomes one of grid.z · streams along z: workgroup z is the kernel's own workgroup z mod grid.z of
// stream z / grid.z, whose row of the table says for each binding how many words lie before its first element. Every
// index into a storage buffer is moved by as many elements. Behind the bindings a row has room for `scalars`: rows are
// bindings + scalars words apart. For one stream at the beginnings of its buffers the row is zeros.
// Needs: one function, storage buffers in set 0 with bindings 0 … n − 1, each a struct of one runtime array of 4 or 8
// bytes an element, reached through access chains alone; workgroups known by WorkgroupId alone. Throws
// std::invalid_argument for any other module.
StreamsKernel for_streams(const std::vector<uint32_t> &words, const std::array<int, 3> &grid,
                          uint32_t scalars);

} // namespace longwave::schedules
