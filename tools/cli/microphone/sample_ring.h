// Samples on their way from the thread that records to the one that computes.
#pragma once
#include "formats/base/expected.h"
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace longwave::cli {

class SampleRing {
public:
    explicit SampleRing(size_t capacity) : samples_(capacity) {}

    // For the thread that records. Waits while the ring is full: the device then reports the loss.
    // False: nobody reads any more.
    bool put(const float *samples, size_t n);
    void note(std::string text); // a line for the reader
    void end(Status status);     // no more samples: the end, or the reason
    bool closed() const { return closed_; }

    // For the reader. Waits for at least one sample; 0: the end, or `stop` became true.
    Expected<size_t> take(float *samples, size_t n, const std::atomic<bool> *stop,
                          const std::function<void(const std::string &)> &notice);
    void close();
    // Has the other thread ended? Waits for it, but not for ever: a device may hang.
    bool wait_for_end();

private:
    std::vector<float> samples_;
    size_t first_ = 0, count_ = 0;
    std::vector<std::string> notes_;
    bool ended_ = false;
    Status status_;
    std::atomic<bool> closed_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
};

} // namespace longwave::cli
