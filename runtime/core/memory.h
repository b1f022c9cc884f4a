// The caller's allocator, or malloc. Every block the runtime keeps comes from here: a handful at
// open and one for each stream or runner.
#pragma once
#include "longwave/longwave.h"
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

inline constexpr size_t line = 64; // alignment of every block and of every part of one

inline uint64_t to_line(uint64_t bytes) { return (bytes + line - 1) & ~uint64_t{line - 1}; }

// What this machine can address in one block, and the most that a memory limit may allow. Whatever
// a budget has allowed fits a size_t.
inline constexpr uint64_t addressable = SIZE_MAX / 2;
// For callers that ask how much: more than a size_t holds is more than any caller can give.
inline size_t to_size(uint64_t bytes) { return bytes > addressable ? SIZE_MAX : static_cast<size_t>(bytes); }

extern const lw_allocator standard_allocator; // malloc: not without an operating system

// A block with its owner; moved by hand, for there are few.
struct Block {
    uint8_t *data = nullptr;
    uint64_t size = 0;

    bool allocate(const lw_allocator &allocator, uint64_t bytes);
    void release(const lw_allocator &allocator);
};

// Hands out the parts of a block in order, each on its own cache line. Without a block (data null)
// it only measures, so one function does both.
class Parts {
public:
    explicit Parts(uint8_t *data) : data_(data) {}
    template <class T> T *take(uint64_t n) {
        T *part = data_ ? reinterpret_cast<T *>(data_ + used_) : nullptr;
        used_ +=
            to_line(n * sizeof(T)); // NOLINT(bugprone-sizeof-expression): some parts are tables of handles
        return part;
    }
    uint64_t used() const { return used_; }

private:
    uint8_t *data_;
    uint64_t used_ = 0;
};

} // namespace longwave::runtime
