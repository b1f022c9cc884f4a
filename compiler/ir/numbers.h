// The numbers of a constant: read-only and shared by all copies. They are float32 from the package,
// which stay where the package has them, or float64 from a pass. So folding rounds once, when the
// artifact is written.
#pragma once
#include "formats/base/shared_array.h"
#include <compare>
#include <cstddef>
#include <iterator>
#include <utility>

namespace longwave::ir {

class Numbers {
public:
    Numbers() = default;
    Numbers(std::vector<double> values) : doubles_(std::move(values)) {}
    Numbers(std::initializer_list<double> values) : doubles_(values) {}
    Numbers(SharedArray<float> values) : floats_(std::move(values)) {}
    Numbers(SharedArray<double> values) : doubles_(std::move(values)) {}

    size_t size() const { return floats_.size() + doubles_.size(); } // one of them is empty
    bool empty() const { return size() == 0; }
    double operator[](size_t i) const { return floats_.empty() ? doubles_[i] : double{floats_[i]}; }
    // The numbers themselves if they have this type, else empty.
    std::span<const float> floats() const { return {floats_.data(), floats_.size()}; }
    std::span<const double> doubles() const { return {doubles_.data(), doubles_.size()}; }
    std::vector<double> to_vector() const { return copy(0, size()); }
    std::vector<double> copy(size_t first, size_t count) const {
        return {begin() + static_cast<ptrdiff_t>(first), begin() + static_cast<ptrdiff_t>(first + count)};
    }

    class Iterator {
    public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = double;
        using difference_type = ptrdiff_t;
        using pointer = void;
        using reference = double; // by value: a float32 is widened as it is read
        Iterator() = default;
        Iterator(const Numbers *of, ptrdiff_t at) : of_(of), at_(at) {}
        double operator*() const { return (*of_)[static_cast<size_t>(at_)]; }
        double operator[](ptrdiff_t n) const { return *(*this + n); }
        Iterator &operator+=(ptrdiff_t n) {
            at_ += n;
            return *this;
        }
        Iterator &operator-=(ptrdiff_t n) { return *this += -n; }
        Iterator &operator++() { return *this += 1; }
        Iterator &operator--() { return *this += -1; }
        Iterator operator++(int) { return std::exchange(*this, *this + 1); }
        Iterator operator--(int) { return std::exchange(*this, *this + -1); }
        friend Iterator operator+(Iterator a, ptrdiff_t n) { return a += n; }
        friend Iterator operator+(ptrdiff_t n, Iterator a) { return a += n; }
        friend Iterator operator-(Iterator a, ptrdiff_t n) { return a += -n; }
        friend ptrdiff_t operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
        friend bool operator==(Iterator a, Iterator b) { return a.at_ == b.at_; }
        friend auto operator<=>(Iterator a, Iterator b) { return a.at_ <=> b.at_; }

    private:
        const Numbers *of_ = nullptr;
        ptrdiff_t at_ = 0;
    };
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, static_cast<ptrdiff_t>(size())}; }

    friend bool operator==(const Numbers &a, const Numbers &b) {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    SharedArray<float> floats_;
    SharedArray<double> doubles_;
};

} // namespace longwave::ir
