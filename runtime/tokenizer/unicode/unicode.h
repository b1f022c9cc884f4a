// What Unicode says of a code point, as the Python package `tokenizers` applies it: Unicode 16.
// The tables (tables.inc) are made by make_tables.py.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace longwave::tokenizer {

// Sets of code points: the algebra of character classes.

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

// General categories, in the order of the tables.
// clang-format off
enum class Category : uint8_t {
    Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe, Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl, Zp,
    Cc, Cf, Co, Cs, Cn
};
// clang-format on
constexpr uint32_t n_categories = 30;

constexpr uint32_t bit(Category category) { return uint32_t{1} << static_cast<uint32_t>(category); }

Category category_of(uint32_t c);
// The code points of all categories whose bit() is set.
CodePoints of_categories(uint32_t bits);
// By the name in \p{...}: case, spaces, - and _ do not count. Nothing: the name is not known.
std::optional<CodePoints> property(std::string_view name);
bool is_word(std::string_view name); // property() of it is that of \w
// By the name in [[:...:]].
std::optional<CodePoints> posix_class(std::string_view name);

CodePoints white_space();
CodePoints word(); // \w in a class
// Code points whose category is another one in Unicode 14, the oldest that PCRE2 may have here.
CodePoints changed_since_14();
CodePoints digits();      // of the pre-tokenizer Digits
CodePoints punctuation(); // of the pre-tokenizer Punctuation
// Code points that the normalizers leave alone, although newer versions of Unicode do not.
CodePoints not_normalized();

// The code point at the start of a text that is not empty, and its bytes. c = invalid: one byte
// that is not UTF-8.
struct Decoded {
    static constexpr uint32_t invalid = 0xFFFFFFFF;
    uint32_t c = invalid;
    size_t bytes = 1;
};
Decoded decode(std::string_view text);

} // namespace longwave::tokenizer
