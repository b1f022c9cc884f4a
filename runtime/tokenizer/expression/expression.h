// A regular expression of a tokenizer.json as a tree. The syntax is that of Oniguruma 6.9
// (ONIG_SYNTAX_ONIGURUMA on UTF-8 without options), because the package `tokenizers` uses it. The
// reader rejects everything that it does not understand exactly, because the ids would be wrong.
#pragma once
#include "formats/base/expected.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::tokenizer {

struct Expression {
    enum class Kind {
        set,      // one character of `set`
        sequence, // the parts, one after the other; none: the empty text
        choice,   // the first part that matches
        repeat,   // the part, `least` to `most` times
        atomic,   // the part, without going back into it
        look,     // whether the part matches here: ahead or behind, negated or not
        anchor,   // a position
        newline,  // \R
    };
    enum class Anchor { line_begin, line_end, word_edge, no_word_edge, text_begin, text_end, last_line_end };
    static constexpr uint32_t endless = 0xFFFFFFFF;

    Kind kind = Kind::sequence;
    CodePoints set;
    bool folds = false; // a letter without regard to case
    std::vector<Expression> parts;
    uint32_t least = 0, most = 0;
    bool lazy = false;
    bool ahead = false, negative = false;
    Anchor anchor = Anchor::text_begin;
};

// The limits of an expression: bytes, nested groups, times that something repeats.
constexpr size_t most_expression_bytes = 10000;
constexpr uint32_t most_expression_depth = 50, most_repeats = 1000;

// `where` starts every error. Fault::input: the expression is wrong, or uses something that is not
// supported; the error names it and its byte.
Expected<Expression> parse_expression(std::string_view text, const std::string &where);

// The same for PCRE2 (options UTF and no others). Fault::input: PCRE2 cannot express it.
Expected<std::string> pcre2_text(const Expression &expression, const std::string &where);

} // namespace longwave::tokenizer
