// An allocator that counts: what is out now, and the most there ever was.
#pragma once
#include "longwave/longwave.h"
#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace longwave::test {

struct Meter {
    std::atomic<uint64_t> now{0}, most{0};
    lw_allocator allocator{allocate, release, this};

    static void *allocate(void *context, size_t size, size_t alignment) {
        Meter &meter = *static_cast<Meter *>(context);
        const uint64_t out = meter.now += size;
        if (out > meter.most) meter.most = out;
        return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    static void release(void *context, void *memory, size_t size) {
        static_cast<Meter *>(context)->now -= size;
        free(memory);
    }
};

} // namespace longwave::test
