#include "runtime/platform/heap.h"
#include <malloc.h>

namespace longwave::platform {

// Large pages need a right that users do not have.
void *allocate(size_t bytes, size_t alignment) { return _aligned_malloc(bytes, alignment); }
void release(void *memory) { _aligned_free(memory); }

} // namespace longwave::platform
