// Rows of floats for kernels that tests call on their own memory.
#pragma once
#include "tests/kernels/check.h"
#include <vector>

namespace longwave::test {

// No row is on a vector's boundary: kernels must not need it.
class Lines {
public:
    Lines(int lanes, int rows)
        : width(lanes), row_(padded(lanes)), values_(size_t(row_) * size_t(rows) + 1) {}
    float &at(int row, int lane) { return values_[1 + size_t(row) * size_t(row_) + size_t(lane)]; }
    uint8_t *place(int row) { return reinterpret_cast<uint8_t *>(&at(row, 0)); }
    int lanes() const { return row_; }
    const int width;

private:
    int row_;
    std::vector<float> values_;
};

} // namespace longwave::test
