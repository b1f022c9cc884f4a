#include "runtime/tokenizer/expression/cursor.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>

namespace longwave::tokenizer {
namespace {

// The text comes from a file: a message shows printable ASCII only.
std::string shown(std::string_view text) {
    constexpr size_t most = 200;
    std::string result;
    for (const char c : text.substr(0, most)) {
        constexpr const char *digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7F) result += c;
        else ((result += "\\x") += digits[byte >> 4]) += digits[byte & 15];
    }
    return text.size() > most ? result + "..." : result;
}

// Oniguruma counts them as \w outside classes, where it asks a table of Latin-1.
const CodePoints numbers_of_latin_1 = {{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}};

} // namespace

Status Cursor::unsupported(const std::string &what, size_t at) const {
    return Status::input(where_ + ": the expression uses " + what + " at byte " + std::to_string(at) +
                         ", which is not supported: " + shown(text_));
}

Status Cursor::wrong(const std::string &what, size_t at) const {
    return Status::input(where_ + ": wrong regular expression: " + what + " at byte " + std::to_string(at) +
                         ": " + shown(text_));
}

uint32_t Cursor::next() {
    const Decoded decoded = decode(text_.substr(at_));
    at_ += decoded.bytes;
    return decoded.c;
}

std::optional<uint32_t> Cursor::number(uint32_t base, size_t most) {
    constexpr std::string_view digits = "0123456789abcdef";
    uint32_t value = 0;
    size_t n = 0;
    for (; !ended(); n++, at_++) {
        const char c = text_[at_];
        const size_t digit = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
        if (digit >= base) break;
        if (n == most || value > (0xFFFFFFFFU - digit) / base) return std::nullopt;
        value = value * base + static_cast<uint32_t>(digit);
    }
    return n ? std::optional(value) : std::nullopt;
}

// Exactly two or four digits, or up to `most` in braces.
Expected<Cursor::Escape> Cursor::code_point(size_t start, uint32_t base, size_t least, size_t most) {
    const std::string name(text_.substr(start, 2));
    const bool braces = least != most && take("{");
    const size_t first = at_;
    std::optional<uint32_t> c;
    if (braces) c = number(base, most);
    else c = Cursor(text_.substr(at_, most), where_).number(base, most);
    if (!braces) at_ = std::min(at_ + most, text_.size());
    const bool digits_only =
        text_.substr(first, at_ - first).find_first_not_of("0123456789abcdefABCDEF") == text_.npos;
    if (!c || !digits_only || at_ - first < least || (braces && !take("}")))
        return unsupported("this form of " + name, start);
    // Bytes from 0x80 on are parts of characters.
    if (least == 2 && *c > 0x7F) return unsupported("a byte of a character", start);
    if (*c > CodePoints::largest || (*c >= 0xD800 && *c < 0xE000))
        return wrong(name + " with a number that is not a code point", start);
    return Escape{{}, true, true, *c};
}

Expected<Cursor::Escape> Cursor::property_escape(size_t start, bool negative, bool in_class) {
    std::string_view name;
    if (take("{")) {
        if (take("^")) negative = !negative;
        const size_t end = text_.find('}', at_);
        if (end == text_.npos) return wrong("\\p without }", start);
        name = text_.substr(at_, end - at_);
        at_ = end + 1;
    } else if (!ended()) {
        const size_t first = at_;
        (void)next();
        name = text_.substr(first, at_ - first);
    }
    std::optional<CodePoints> set = property(name);
    if (!set) return unsupported("the property " + shown(name), start);
    if (!in_class && is_word(name)) set->add(numbers_of_latin_1);
    return Escape{negative ? set->complement() : *std::move(set)};
}

Expected<Cursor::Escape> Cursor::escape(bool in_class) {
    const size_t start = at_ - 1;
    if (ended()) return wrong("a backslash without a character", start);
    const uint32_t c = next();
    const std::string name(text_.substr(start, at_ - start));
    CodePoints set;
    switch (c) {
    case 'w':
    case 'W':
        set = word();
        if (!in_class) set.add(numbers_of_latin_1);
        break;
    case 's':
    case 'S': set = white_space(); break;
    case 'd':
    case 'D': set = of_categories(bit(Category::Nd)); break;
    case 'h':
    case 'H': set = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}; break;
    case 'p':
    case 'P': return property_escape(start, c == 'P', in_class);
    case 'x': return sees("{") ? code_point(start, 16, 1, 8) : code_point(start, 16, 2, 2);
    case 'u': return code_point(start, 16, 4, 4);
    case 'o':
        if (sees("{")) return code_point(start, 8, 1, 11);
        break;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return unsupported(in_class || c == '0' ? "the octal number " + name : "the back-reference " + name,
                           start);
    case 'M':
    case 'C':
    case 'c': return unsupported(name, start);
    case 't': return Escape{{}, true, true, '\t'};
    case 'n': return Escape{{}, true, true, '\n'};
    case 'r': return Escape{{}, true, true, '\r'};
    case 'f': return Escape{{}, true, true, '\f'};
    case 'v': return Escape{{}, true, true, '\v'};
    case 'a': return Escape{{}, true, true, '\a'};
    case 'e': return Escape{{}, true, true, 0x1B};
    case 'b':
        if (in_class) return Escape{{}, true, true, '\b'};
        break;
    default: break;
    }
    if (!set.empty()) return Escape{name[1] >= 'A' && name[1] <= 'Z' ? set.complement() : std::move(set)};
    return Escape{{}, true, false, c}; // the character itself, as \Q is Q
}

std::optional<CodePoints> folded(uint32_t c) {
    if (c >= 0x80) {
        const uint32_t cased =
            ~(bit(Category::Zs) | bit(Category::Zl) | bit(Category::Zp) | bit(Category::Pc) |
              bit(Category::Pd) | bit(Category::Ps) | bit(Category::Pe) | bit(Category::Pi) |
              bit(Category::Pf) | bit(Category::Po) | bit(Category::Cc) | bit(Category::Cf));
        if (bit(category_of(c)) & cased) return std::nullopt;
        return CodePoints{{c, c}};
    }
    const uint32_t lower = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
    CodePoints result{{c, c}};
    if (lower >= 'a' && lower <= 'z') result.add({{lower, lower}, {lower - 'a' + 'A', lower - 'a' + 'A'}});
    if (lower == 'k') result.add(0x212A, 0x212A); // the Kelvin sign
    if (lower == 's') result.add(0x17F, 0x17F);   // the long s
    return result;
}

} // namespace longwave::tokenizer
