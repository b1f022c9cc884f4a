// The numbers of a constant: read-only and shared by all copies. They are float32 or bfloat16 of
// the package, which stay where the package has them, float64 from a pass, or made from other
// numbers as they are read. So folding rounds once, when the artifact is written.
#pragma once
#include "formats/base/float_array.h"
#include "formats/base/indexed.h"
#include "formats/base/shared_array.h"
#include <cstddef>
#include <memory>

namespace longwave::ir {

// Numbers that are computed whenever they are read, so that they take no memory. Any thread may
// read.
class NumberSource {
public:
    virtual ~NumberSource() = default;
    virtual size_t size() const = 0;
    // The numbers from `first` on, as many as `to` has.
    virtual void read(size_t first, std::span<double> to) const = 0;
};

class Numbers {
public:
    Numbers() = default;
    Numbers(std::vector<double> values) : doubles_(std::move(values)) {}
    Numbers(std::initializer_list<double> values) : doubles_(values) {}
    Numbers(FloatArray values) : floats_(std::move(values)) {}
    Numbers(SharedArray<float> values) : floats_(std::move(values)) {}
    Numbers(SharedArray<double> values) : doubles_(std::move(values)) {}
    Numbers(std::shared_ptr<const NumberSource> made) : made_(std::move(made)) {}

    size_t size() const { return made_ ? made_->size() : floats_.size() + doubles_.size(); } // one is empty
    bool empty() const { return size() == 0; }
    double operator[](size_t i) const {
        if (!doubles_.empty()) return doubles_[i];
        if (!made_) return double{floats_[i]};
        double number;
        made_->read(i, {&number, 1});
        return number;
    }
    // The numbers themselves if they are float64 in memory, else empty.
    std::span<const double> doubles() const { return {doubles_.data(), doubles_.size()}; }
    // The numbers from `first` on, as many as `to` has. Of many numbers this is faster than [], and
    // it takes no memory beside `to`.
    void read(size_t first, std::span<double> to) const {
        if (!doubles_.empty()) std::copy_n(doubles_.begin() + first, to.size(), to.begin());
        else if (made_) made_->read(first, to);
        else floats_.read(first, to);
    }
    std::vector<double> to_vector() const { return copy(0, size()); }
    std::vector<double> copy(size_t first, size_t count) const {
        std::vector<double> copied(count);
        read(first, copied);
        return copied;
    }

    using Iterator = IndexIterator<Numbers, double>; // by value: a float32 is widened as it is read
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, static_cast<ptrdiff_t>(size())}; }

    friend bool operator==(const Numbers &a, const Numbers &b) {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    FloatArray floats_;
    SharedArray<double> doubles_;
    std::shared_ptr<const NumberSource> made_;
};

} // namespace longwave::ir
