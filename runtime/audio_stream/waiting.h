// A ring of samples that wait. The creator knows how many can come before the next are taken, so
// there is always room.
#pragma once
#include "runtime/core/memory.h"
#include <cstdint>

namespace longwave::runtime {

class Waiting {
public:
    void build(uint32_t capacity, Parts &parts) {
        capacity_ = capacity;
        samples_ = parts.take<float>(capacity);
    }
    void clear() { first_ = count_ = 0; }
    uint32_t count() const { return count_; }
    uint32_t room() const { return capacity_ - count_; }

    void add(float sample) {
        if (count_ == capacity_) return;
        samples_[wrap(uint64_t{first_} + count_)] = sample;
        ++count_;
    }
    // The oldest; there must be one.
    float take() {
        const float sample = samples_[first_];
        first_ = wrap(uint64_t{first_} + 1);
        --count_;
        return sample;
    }

private:
    uint32_t wrap(uint64_t i) const { return static_cast<uint32_t>(i < capacity_ ? i : i - capacity_); }

    float *samples_ = nullptr;
    uint32_t capacity_ = 0, first_ = 0, count_ = 0;
};

} // namespace longwave::runtime
