#include "runtime/stream/queue.h"

namespace longwave::runtime {

void Queue::build(uint32_t capacity, uint32_t widest, Parts &parts) {
    capacity_ = capacity;
    widest_ = widest;
    ring_ = parts.take<QueuedRows>(capacity);
    values_ = parts.take<uint8_t>(capacity * stride());
    clear();
}

uint32_t Queue::append(const QueuedRows &run) {
    const uint32_t position = rows_;
    rows_ += run.rows;
    if (runs_ > 0) {
        QueuedRows &newest = ring_[wrap(uint64_t{first_run_} + runs_ - 1)];
        if (newest.output == run.output && newest.row + newest.rows == run.row) {
            newest.rows += run.rows;
            return position;
        }
    }
    ring_[wrap(uint64_t{first_run_} + runs_)] = run;
    ++runs_;
    return position;
}

void Queue::drop(uint32_t n) {
    QueuedRows &oldest = ring_[first_run_];
    first_ = static_cast<uint32_t>(wrap(uint64_t{first_} + n));
    rows_ -= n;
    oldest.row += n;
    oldest.rows -= n;
    if (oldest.rows > 0) return;
    first_run_ = static_cast<uint32_t>(wrap(uint64_t{first_run_} + 1));
    --runs_;
}

// Appends the others anew, in the places that become free: never behind the run or the row that is
// read.
void Queue::forget(uint32_t output) {
    const uint32_t n = runs_;
    rows_ = runs_ = 0;
    for (uint32_t i = 0, from = 0; i < n; ++i) {
        const QueuedRows kept = run(i);
        if (kept.output != output) {
            const uint32_t to = append(kept);
            for (uint32_t r = 0; r < kept.rows && to != from; ++r)
                memmove(row(to + r), row(from + r), uint64_t{kept.width} * 4);
        }
        from += kept.rows;
    }
}

} // namespace longwave::runtime
