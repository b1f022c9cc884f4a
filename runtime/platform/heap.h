// Memory of the process, where the caller names no allocator.
#pragma once
#include <cstddef>

namespace longwave::platform {

// `alignment`: a power of two that divides `bytes`. Null: there is none left. Large blocks lie on
// large pages where the system has them.
void *allocate(size_t bytes, size_t alignment);
void release(void *memory);

} // namespace longwave::platform
