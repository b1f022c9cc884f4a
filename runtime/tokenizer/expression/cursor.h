// A place in the text of an expression, and the escapes that classes and groups share.
#pragma once
#include "runtime/tokenizer/expression/expression.h"
#include <optional>

namespace longwave::tokenizer {

class Cursor {
public:
    Cursor(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

    bool ended() const { return at_ == text_.size(); }
    size_t at() const { return at_; }
    void go_to(size_t at) { at_ = at; }
    bool sees(std::string_view text) const { return text_.substr(at_).starts_with(text); }
    bool take(std::string_view text) {
        if (!sees(text)) return false;
        at_ += text.size();
        return true;
    }
    // The next character; the text is UTF-8 and has not ended.
    uint32_t next();
    // Digits of a base; nothing if there is none, or if they are more than `most`.
    std::optional<uint32_t> number(uint32_t base, size_t most);

    // An escape after its backslash: a set, or one character.
    struct Escape {
        CodePoints set;
        bool character = false;
        bool by_number = false; // \x41
        uint32_t c = 0;
    };
    Expected<Escape> escape(bool in_class);

    // "uses WHAT at byte N, which is not supported"
    Status unsupported(const std::string &what, size_t at) const;
    // "WHAT at byte N"
    Status wrong(const std::string &what, size_t at) const;

private:
    Expected<Escape> code_point(size_t start, uint32_t base, size_t least, size_t most);
    Expected<Escape> property_escape(size_t start, bool negative, bool in_class);
    std::string_view text_;
    const std::string where_;
    size_t at_ = 0;
};

// A class after its [, up to its ]. fold: without regard to case.
Expected<CodePoints> parse_class(Cursor &cursor, bool fold);

// A letter of ASCII and what differs from it in case only. Nothing: the character has forms that
// cannot be compared exactly.
std::optional<CodePoints> folded(uint32_t c);

} // namespace longwave::tokenizer
