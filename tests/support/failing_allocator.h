// An lw_allocator that fails on demand and knows what was not given back.
#pragma once
#include "longwave/longwave.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <map>

namespace longwave::test {

// Counts, fails the k-th (from 0) and, if `for_good`, all behind it.
struct FailingAllocator {
    long calls = 0, fail_at = -1;
    bool for_good = false;
    std::map<void *, size_t> live;
    lw_allocator allocator{allocate, release, this};

    static void *allocate(void *context, size_t size, size_t alignment) {
        FailingAllocator &hooks = *static_cast<FailingAllocator *>(context);
        const long k = hooks.calls++;
        if (hooks.fail_at >= 0 && (k == hooks.fail_at || (hooks.for_good && k > hooks.fail_at)))
            return nullptr;
        void *memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
        hooks.live[memory] = size;
        return memory;
    }
    static void release(void *context, void *memory, size_t size) {
        FailingAllocator &hooks = *static_cast<FailingAllocator *>(context);
        CHECK(hooks.live.at(memory) == size);
        hooks.live.erase(memory);
        free(memory);
    }
};

} // namespace longwave::test
