// Sets of code points: the algebra of character classes.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace longwave::tokenizer {

class CodePoints {
public:
    struct Range {
        uint32_t first = 0, last = 0; // both belong to it
    };
    static constexpr uint32_t largest = 0x10FFFF;

    CodePoints() = default;
    CodePoints(std::initializer_list<Range> ranges);
    // In any order; they may overlap.
    explicit CodePoints(std::vector<Range> ranges);

    void add(uint32_t first, uint32_t last);
    void add(const CodePoints &others);
    CodePoints complement() const;
    CodePoints both(const CodePoints &others) const;
    CodePoints without(const CodePoints &others) const { return both(others.complement()); }

    bool contains(uint32_t c) const;
    bool covers(const CodePoints &others) const { return others.without(*this).empty(); }
    bool empty() const { return ranges_.empty(); }
    // Sorted, with at least one other code point between two of them.
    const std::vector<Range> &ranges() const { return ranges_; }

private:
    void sort();
    std::vector<Range> ranges_;
};

} // namespace longwave::tokenizer
