#include "tools/cli/microphone/sample_ring.h"
#include <algorithm>
#include <chrono>

namespace longwave::cli {

// A signal sets a flag and wakes nobody, so waits look at it this often.
constexpr std::chrono::milliseconds look_interval(50);

bool SampleRing::put(const float *samples, size_t n) {
    std::unique_lock lock(mutex_);
    while (n > 0 && !closed_) {
        if (count_ == samples_.size()) {
            changed_.wait_for(lock, look_interval);
            continue;
        }
        const size_t at = (first_ + count_) % samples_.size();
        const size_t part = std::min({n, samples_.size() - count_, samples_.size() - at});
        std::copy_n(samples, part, samples_.begin() + static_cast<ptrdiff_t>(at));
        count_ += part, samples += part, n -= part;
        changed_.notify_all();
    }
    return !closed_;
}

void SampleRing::note(std::string text) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(text));
    changed_.notify_all();
}

void SampleRing::end(Status status) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    status_ = std::move(status);
    changed_.notify_all();
}

Expected<size_t> SampleRing::take(float *samples, size_t n, const std::atomic<bool> *stop,
                                  const std::function<void(const std::string &)> &notice) {
    std::unique_lock lock(mutex_);
    for (;;) {
        for (const std::string &text : notes_)
            if (notice) notice(text);
        notes_.clear();
        if (count_ > 0) {
            const size_t part = std::min({n, count_, samples_.size() - first_});
            std::copy_n(samples_.begin() + static_cast<ptrdiff_t>(first_), part, samples);
            first_ = (first_ + part) % samples_.size();
            count_ -= part;
            changed_.notify_all();
            return part;
        }
        if (!status_) return status_;
        if (ended_ || (stop && *stop)) return size_t{0};
        changed_.wait_for(lock, look_interval);
    }
}

void SampleRing::close() {
    closed_ = true;
    changed_.notify_all();
}

bool SampleRing::wait_for_end() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; });
}

} // namespace longwave::cli
