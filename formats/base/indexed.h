// Iterators over what can only be read by index: the elements are made as they are read.
#pragma once
#include <compare>
#include <cstddef>
#include <iterator>
#include <utility>

namespace longwave {

// `Array` has `Element operator[](size_t) const`. It must outlive its iterators.
template <class Array, class Element> class IndexIterator {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Element;
    using difference_type = ptrdiff_t;
    using pointer = void;
    using reference = Element; // by value
    IndexIterator() = default;
    IndexIterator(const Array *of, ptrdiff_t at) : of_(of), at_(at) {}
    Element operator*() const { return (*of_)[static_cast<size_t>(at_)]; }
    Element operator[](ptrdiff_t n) const { return *(*this + n); }
    IndexIterator &operator+=(ptrdiff_t n) {
        at_ += n;
        return *this;
    }
    IndexIterator &operator-=(ptrdiff_t n) { return *this += -n; }
    IndexIterator &operator++() { return *this += 1; }
    IndexIterator &operator--() { return *this += -1; }
    IndexIterator operator++(int) { return std::exchange(*this, *this + 1); }
    IndexIterator operator--(int) { return std::exchange(*this, *this + -1); }
    friend IndexIterator operator+(IndexIterator a, ptrdiff_t n) { return a += n; }
    friend IndexIterator operator+(ptrdiff_t n, IndexIterator a) { return a += n; }
    friend IndexIterator operator-(IndexIterator a, ptrdiff_t n) { return a += -n; }
    friend ptrdiff_t operator-(IndexIterator a, IndexIterator b) { return a.at_ - b.at_; }
    friend bool operator==(IndexIterator a, IndexIterator b) { return a.at_ == b.at_; }
    friend auto operator<=>(IndexIterator a, IndexIterator b) { return a.at_ <=> b.at_; }

private:
    const Array *of_ = nullptr;
    ptrdiff_t at_ = 0;
};

} // namespace longwave
