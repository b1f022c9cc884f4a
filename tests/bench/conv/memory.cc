#include "tests/bench/conv/problem.h"
#include <cassert>
#include <cstring>
#include <sys/mman.h>

namespace longwave::bench {

namespace {
constexpr size_t huge_page = size_t{2} << 20;
}

Memory::Memory(size_t floats) : size_(rounded(floats)) {
    const size_t bytes = size_ * sizeof(float), page = bytes < 2 * huge_page ? 64 : huge_page,
                 rounded = (bytes + page - 1) / page * page;
    block_.reset(static_cast<float *>(std::aligned_alloc(page, rounded)));
    if (page == huge_page) madvise(block_.get(), rounded, MADV_HUGEPAGE);
    std::memset(block_.get(), 0, bytes);
}

float *Memory::take(size_t floats) {
    float *piece = block_.get() + used_;
    used_ += rounded(floats);
    assert(used_ <= size_);
    return piece;
}

} // namespace longwave::bench
