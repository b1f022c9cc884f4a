#include "runtime/core/memory.h"

namespace longwave::runtime {

bool Block::allocate(const lw_allocator &allocator, uint64_t bytes) {
    if (bytes == 0) bytes = line;
    if (bytes > addressable) return false;
    data = static_cast<uint8_t *>(allocator.allocate(allocator.context, static_cast<size_t>(bytes), line));
    size = data ? bytes : 0;
    return data != nullptr;
}

void Block::release(const lw_allocator &allocator) {
    if (data) allocator.release(allocator.context, data, static_cast<size_t>(size));
    data = nullptr;
    size = 0;
}

} // namespace longwave::runtime
