#include "runtime/platform/heap.h"
#include <stdlib.h>
#include <sys/mman.h>

namespace longwave::platform {

// A long convolution walks over megabytes of spectra in every block: on pages of 4 kB it waits for
// address translation. Asking costs nothing where it is refused.
static constexpr size_t huge_page = size_t{2} << 20;

void *allocate(size_t bytes, size_t alignment) {
    if (bytes < 2 * huge_page) return aligned_alloc(alignment, bytes);
    bytes = (bytes + huge_page - 1) / huge_page * huge_page;
    void *memory = aligned_alloc(huge_page, bytes);
    if (memory) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void release(void *memory) { free(memory); }

} // namespace longwave::platform
