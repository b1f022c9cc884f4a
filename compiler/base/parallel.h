// Runs independent parts of some work on several threads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace longwave {

// 0: one per CPU.
inline unsigned workers_for(unsigned asked) {
    return asked ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// Calls work(first, last) on ranges that cover [0, count), one thread per range. Returns when all
// are done. Rethrows an exception of a range. A range that gets no thread runs in this one.
template <class Work> void in_parts(size_t count, unsigned workers, const Work &work) {
    const size_t parts = std::clamp<size_t>(workers, 1, std::max<size_t>(count, 1));
    const auto part = [&](size_t i) { work(count * i / parts, count * (i + 1) / parts); };
    std::vector<std::future<void>> others;
    others.reserve(parts);
    size_t started = 1;
    try {
        for (; started < parts; started++) others.push_back(std::async(std::launch::async, part, started));
    } catch (const std::system_error &) { // the system gives no more threads
    }
    part(0);
    for (size_t i = started; i < parts; i++) part(i);
    for (auto &other : others) other.get();
}

} // namespace longwave
