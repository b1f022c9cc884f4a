#include "tests/attack/guard_allocator.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace longwave::attack {
namespace {

constexpr uint64_t page = 4096;

uint64_t pages(uint64_t bytes) { return (bytes + page - 1) / page * page; }

void *allocate(void *context, size_t size, size_t alignment) {
    auto &self = *static_cast<GuardAllocator *>(context);
    if (size > self.most || self.held > self.most) return nullptr;
    const uint64_t inner = pages(std::max<uint64_t>(size, 1));
    void *memory = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    uint8_t *begin = static_cast<uint8_t *>(memory) + page;
    if (mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) return nullptr;
    self.held += size;
    self.peak = std::max(self.peak, self.held);
    return self.at_front ? begin : begin + (inner - size) / alignment * alignment;
}

void release(void *context, void *block, size_t size) {
    if (!block) return;
    static_cast<GuardAllocator *>(context)->held -= size;
    uint8_t *begin = reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(block) / page * page);
    munmap(begin - page, pages(std::max<uint64_t>(size, 1)) + 2 * page);
}

} // namespace

lw_allocator GuardAllocator::calls() { return {allocate, release, this}; }

} // namespace longwave::attack
