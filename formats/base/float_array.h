// Numbers that never change, held once, as float32 in memory, or in a mapped file as float32 or
// bfloat16. Copies refer to the same numbers, which live as long as one of them.
#pragma once
#include "formats/base/file_pages.h"
#include "formats/base/indexed.h"
#include "formats/base/shared_array.h"
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace longwave {

// A bfloat16 is the upper half of a float32.
inline float widen_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

class FloatArray {
public:
    enum class Stored : uint8_t { float32, bf16 };

    FloatArray() = default;
    FloatArray(SharedArray<float> values)
        : values_(std::move(values)), at_(reinterpret_cast<const uint8_t *>(values_.data())),
          size_(values_.size()) {}
    FloatArray(std::vector<float> values) : FloatArray(SharedArray<float>(std::move(values))) {}
    FloatArray(std::initializer_list<float> values) : FloatArray(std::vector<float>(values)) {}
    // `size` little-endian numbers from byte `offset` of the file on, in any alignment. The caller
    // has checked that the file has them.
    FloatArray(std::shared_ptr<const FilePages> pages, size_t offset, size_t size, Stored stored)
        : pages_(std::move(pages)), at_(pages_->data() + offset), size_(size), stored_(stored) {}

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const float *data() const { return values_.data(); } // null where they lie in a file
    float operator[](size_t i) const {
        if (stored_ == Stored::bf16) return widen_bf16(load<uint16_t>(i));
        return load<float>(i);
    }
    // The numbers from `first` on, as many as `to` has. For large arrays: reads with [] alone would
    // keep all pages of a file in memory.
    template <class T> void read(size_t first, std::span<T> to) const {
        if (stored_ == Stored::bf16)
            for (size_t i = 0; i < to.size(); ++i) to[i] = widen_bf16(load<uint16_t>(first + i));
        else
            for (size_t i = 0; i < to.size(); ++i) to[i] = load<float>(first + i);
        if (pages_) pages_->was_read(to.size() * (stored_ == Stored::bf16 ? 2 : 4));
    }

    using Iterator = IndexIterator<FloatArray, float>;
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, static_cast<ptrdiff_t>(size())}; }

    friend bool operator==(const FloatArray &a, const FloatArray &b) {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    template <class T> T load(size_t i) const {
        static_assert(std::endian::native == std::endian::little, "files are little-endian");
        T value;
        std::memcpy(&value, at_ + i * sizeof value, sizeof value);
        return value;
    }

    SharedArray<float> values_;
    std::shared_ptr<const FilePages> pages_;
    const uint8_t *at_ = nullptr;
    size_t size_ = 0;
    Stored stored_ = Stored::float32;
};

// Reads all of `numbers` in pieces: work(first, piece).
template <class Work> void in_pieces(const FloatArray &numbers, const Work &work) {
    constexpr size_t most = size_t{1} << 16;
    std::vector<float> buffer(std::min(most, numbers.size()));
    for (size_t first = 0; first < numbers.size(); first += most) {
        const std::span piece(buffer.data(), std::min(most, numbers.size() - first));
        numbers.read(first, piece);
        work(first, std::span<const float>(piece));
    }
}

} // namespace longwave
