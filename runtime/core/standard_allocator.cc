// Memory of the process, where the caller names no allocator.
#include "runtime/core/memory.h"
#include "runtime/platform/heap.h"

namespace longwave::runtime {

const lw_allocator standard_allocator = {
    [](void *, size_t size, size_t alignment) { return platform::allocate(to_line(size), alignment); },
    [](void *, void *memory, size_t) { platform::release(memory); },
    nullptr,
};

} // namespace longwave::runtime
