// Memory from the C library, where the caller names no allocator.
#include "runtime/core/memory.h"
#include <cstdlib>
#include <sys/mman.h>

namespace longwave::runtime {

namespace {

// A long convolution walks over megabytes of spectra in every block: on pages of 4 kB it waits for
// address translation. Asking costs nothing where it is refused.
constexpr size_t huge_page = size_t{2} << 20;

void *allocate(void *, size_t size, size_t alignment) {
    if (size < 2 * huge_page) return aligned_alloc(alignment, to_line(size));
    size = (size + huge_page - 1) / huge_page * huge_page;
    void *memory = aligned_alloc(huge_page, size);
    if (memory) madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

} // namespace

const lw_allocator standard_allocator = {
    allocate,
    [](void *, void *memory, size_t) { free(memory); },
    nullptr,
};

} // namespace longwave::runtime
