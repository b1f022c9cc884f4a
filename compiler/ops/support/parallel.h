// Runs independent parts of some work on several threads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace longwave::ir {

// 0: one per CPU.
inline unsigned workers_for(unsigned asked) {
    return asked ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// Calls work(first, last) on ranges that cover [0, count), one thread per range. Returns when all
// are done. Rethrows an exception of a range.
template <class Work> void in_parts(size_t count, unsigned workers, const Work &work) {
    const size_t parts = std::clamp<size_t>(workers, 1, std::max<size_t>(count, 1));
    std::vector<std::future<void>> others;
    for (size_t i = 1; i < parts; i++)
        others.push_back(std::async(std::launch::async, [&work, i, parts, count] {
            work(count * i / parts, count * (i + 1) / parts);
        }));
    work(0, count / parts);
    for (auto &other : others) other.get();
}

} // namespace longwave::ir
