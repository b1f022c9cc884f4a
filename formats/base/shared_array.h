// Values that never change, held once: copies of a SharedArray refer to the same memory, which
// lives as long as one of them.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace longwave {

template <class T> class SharedArray {
public:
    SharedArray() = default;
    SharedArray(std::vector<T> values) {
        auto held = std::make_shared<const std::vector<T>>(std::move(values));
        values_ = *held;
        owner_ = std::move(held);
    }
    SharedArray(std::initializer_list<T> values) : SharedArray(std::vector<T>(values)) {}
    // `values` lie in what `owner` keeps alive; without an owner the caller does.
    SharedArray(std::shared_ptr<const void> owner, std::span<const T> values)
        : owner_(std::move(owner)), values_(values) {}

    size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    const T *data() const { return values_.data(); }
    const T *begin() const { return data(); }
    const T *end() const { return data() + size(); }
    const T &operator[](size_t i) const { return values_[i]; }

    friend bool operator==(const SharedArray &a, const SharedArray &b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    std::shared_ptr<const void> owner_;
    std::span<const T> values_;
};

} // namespace longwave
