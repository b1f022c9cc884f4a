#include "runtime/tokenizer/unicode/code_points.h"
#include <algorithm>

namespace longwave::tokenizer {

CodePoints::CodePoints(std::initializer_list<Range> ranges) : ranges_(ranges) { sort(); }
CodePoints::CodePoints(std::vector<Range> ranges) : ranges_(std::move(ranges)) { sort(); }

void CodePoints::sort() {
    std::sort(ranges_.begin(), ranges_.end(), [](Range a, Range b) { return a.first < b.first; });
    std::vector<Range> merged;
    for (const Range &range : ranges_)
        if (!merged.empty() && range.first <= merged.back().last + 1)
            merged.back().last = std::max(merged.back().last, range.last);
        else merged.push_back(range);
    ranges_.swap(merged);
}

void CodePoints::add(uint32_t first, uint32_t last) {
    ranges_.push_back({first, last});
    if (ranges_.size() > 1) sort();
}

void CodePoints::add(const CodePoints &others) {
    ranges_.insert(ranges_.end(), others.ranges_.begin(), others.ranges_.end());
    sort();
}

CodePoints CodePoints::complement() const {
    CodePoints result;
    uint32_t next = 0;
    for (const Range &range : ranges_) {
        if (range.first > next) result.ranges_.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= largest) result.ranges_.push_back({next, largest});
    return result;
}

CodePoints CodePoints::both(const CodePoints &others) const {
    CodePoints result;
    for (size_t i = 0, j = 0; i < ranges_.size() && j < others.ranges_.size();) {
        const Range a = ranges_[i], b = others.ranges_[j];
        const uint32_t first = std::max(a.first, b.first), last = std::min(a.last, b.last);
        if (first <= last) result.ranges_.push_back({first, last});
        if (a.last < b.last) i++;
        else j++;
    }
    return result;
}

bool CodePoints::contains(uint32_t c) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                        [](uint32_t point, Range range) { return point < range.first; });
    return after != ranges_.begin() && c <= std::prev(after)->last;
}

} // namespace longwave::tokenizer
