// Rows that wait to be pulled: a ring of rows, and beside it a ring of runs that says whose they
// are.
//
// A run (QueuedRows) is rows of one output that follow each other. Rows that continue the newest
// run lengthen it, so a row costs its values and nothing else; and the same rows make the same
// runs, however they came.
#pragma once
#include "runtime/core/memory.h"
#include <cstdint>
#include <cstring>

namespace longwave::runtime {

struct QueuedRows {
    uint64_t row; // number of the first
    uint32_t rows, output, width, reserved;
};
static_assert(sizeof(QueuedRows) == 24);

class Queue {
public:
    // Room for `capacity` rows of at most `widest` floats; measuring and real parts as in memory.h.
    void build(uint32_t capacity, uint32_t widest, Parts &parts);

    uint32_t capacity() const { return capacity_; }
    uint32_t rows() const { return rows_; }
    uint32_t runs() const { return runs_; }
    const QueuedRows &run(uint32_t i) const { return ring_[wrap(first_run_ + i)]; } // oldest first

    // Rows by position, the oldest is 0; `stride` bytes lie between rows that lie one behind the
    // other.
    uint8_t *row(uint32_t position) const { return values_ + wrap(first_ + position) * stride(); }
    uint64_t stride() const { return uint64_t{widest_} * 4; }
    // How many of n rows from that position on lie one behind the other.
    uint32_t in_line(uint32_t position, uint32_t n) const {
        const uint32_t to_end = capacity_ - static_cast<uint32_t>(wrap(first_ + position));
        return n < to_end ? n : to_end;
    }

    // Makes place behind the newest row, for no more rows than there is room: the caller writes
    // them. The position of the first.
    uint32_t append(const QueuedRows &run);
    void drop(uint32_t n); // n rows of the oldest run
    void forget(uint32_t output);
    void clear() { first_ = rows_ = first_run_ = runs_ = 0; }

private:
    uint64_t wrap(uint64_t i) const { return i < capacity_ ? i : i - capacity_; }

    QueuedRows *ring_ = nullptr;
    uint8_t *values_ = nullptr;
    uint32_t capacity_ = 0, widest_ = 0;
    uint32_t first_ = 0, rows_ = 0, first_run_ = 0, runs_ = 0;
};

} // namespace longwave::runtime
