// The tree as an expression of PCRE2. Classes are written by general category where they have all
// of one, because the compiled form of PCRE2 has a limit of 64 KiB.
#include "runtime/tokenizer/expression/expression.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <optional>

namespace longwave::tokenizer {
namespace {

using Kind = Expression::Kind;
using Anchor = Expression::Anchor;

std::string number(uint32_t c) {
    constexpr const char *digits = "0123456789abcdef";
    std::string result;
    for (int shift = 20; shift >= 0; shift -= 4)
        if (!result.empty() || c >> shift || shift == 0) result += digits[c >> shift & 15];
    return "\\x{" + result + "}";
}

constexpr const char *category_names[] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                          "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                          "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Cn"};

// By category, made once: an expression may have thousands of classes.
const CodePoints &category_set(uint32_t i) {
    static const std::vector<CodePoints> sets = [] {
        std::vector<CodePoints> result;
        for (uint32_t category = 0; category < n_categories; category++)
            result.push_back(of_categories(uint32_t{1} << category));
        return result;
    }();
    return sets[i];
}

// The items of a class. PCRE2 may know Unicode 14 only: a category is written when that version gives
// the same code points, together with those that changed since.
std::string items(const CodePoints &set) {
    static const CodePoints changed = changed_since_14();
    constexpr size_t few = 4; // ranges that are shorter than names
    std::string result;
    CodePoints single = set.ranges().size() <= few ? set : set.both(changed);
    for (uint32_t i = 0; i < n_categories && set.ranges().size() > few; i++) {
        const auto name = static_cast<Category>(i);
        if (name == Category::Cs) continue; // no text has halves of code points
        const CodePoints &category = category_set(i);
        const CodePoints here = set.both(category);
        // U+1171E was Mn.
        const bool whole = here.ranges().size() > 1 && category.without(here).empty() &&
                           (name != Category::Mn || set.contains(0x1171E));
        if (whole && name != Category::Cn) {
            (result += "\\p{") += category_names[i];
            result += '}';
        } else {
            single.add(here);
        }
    }
    for (const CodePoints::Range &range : single.ranges()) {
        result += number(range.first);
        if (range.last > range.first) (result += '-') += number(range.last);
    }
    return result;
}

std::string set_text(const CodePoints &set) {
    static const CodePoints text = CodePoints{{0xD800, 0xDFFF}}.complement();
    const CodePoints here = set.both(text);
    if (here.empty()) return "(?!)";
    if (here.covers(text)) return "(?s:.)";
    if (here.ranges().size() == 1 && here.ranges()[0].first == here.ranges()[0].last)
        return number(here.ranges()[0].first);
    const bool most = here.covers(category_set(static_cast<uint32_t>(Category::Cn)));
    return most ? "[^" + items(text.without(here)) + "]" : "[" + items(here) + "]";
}

// Characters of everything that it matches; nothing: not always the same number.
std::optional<uint32_t> width(const Expression &e) {
    switch (e.kind) {
    case Kind::set: return 1;
    case Kind::anchor:
    case Kind::look: return 0;
    case Kind::newline: return std::nullopt;
    case Kind::atomic: return width(e.parts[0]);
    case Kind::repeat: {
        const std::optional<uint32_t> one = width(e.parts[0]);
        if (!one || e.least != e.most || *one > most_repeats) return std::nullopt;
        return *one * e.least;
    }
    case Kind::choice: {
        const std::optional<uint32_t> first = width(e.parts[0]);
        for (const Expression &part : e.parts)
            if (width(part) != first) return std::nullopt;
        return first;
    }
    case Kind::sequence: break;
    }
    uint32_t sum = 0;
    for (const Expression &part : e.parts) {
        const std::optional<uint32_t> one = width(part);
        if (!one || *one + sum > most_repeats) return std::nullopt;
        sum += *one;
    }
    return sum;
}

// PCRE2's compiled form has at most 64 KiB, and few bytes of text for each of its bytes.
constexpr size_t most_text = size_t{1} << 20;

class Writer {
public:
    explicit Writer(const std::string &where) : where_(where) {}

    Expected<std::string> write(const Expression &e) {
        switch (e.kind) {
        case Kind::set: return set_text(e.set);
        case Kind::anchor: return anchor(e.anchor);
        case Kind::newline: return std::string("(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])");
        case Kind::atomic: return group("(?>", e, "");
        case Kind::look: return look(e);
        case Kind::repeat: return repeat(e);
        case Kind::choice: return group("(?:", e, "|");
        case Kind::sequence: break;
        }
        return group("(?:", e, "");
    }

private:
    Expected<std::string> group(const char *start, const Expression &e, const char *between) {
        std::string result = start;
        for (size_t i = 0; i < e.parts.size(); i++) {
            LW_ASSIGN(const std::string part, write(e.parts[i]));
            if (i > 0) result += between;
            result += part;
            if (result.size() > most_text)
                return Status::input(where_ + ": the expression is too large for PCRE2");
        }
        return result + ")";
    }

    Expected<std::string> look(const Expression &e) {
        if (!e.ahead) { // every alternative of its own may have another width
            const Expression &body = e.parts[0];
            const bool choice = body.kind == Kind::choice;
            for (size_t i = 0; i < (choice ? body.parts.size() : 1); i++)
                if (!width(choice ? body.parts[i] : body))
                    return Status::input(where_ +
                                         ": the expression looks behind by a varying number of characters, "
                                         "which is not supported");
            const std::string start = e.negative ? "(?<!" : "(?<=";
            return choice ? group(start.c_str(), body, "|") : group(start.c_str(), e, "");
        }
        return group(e.negative ? "(?!" : "(?=", e, "");
    }

    Expected<std::string> repeat(const Expression &e) {
        LW_ASSIGN(std::string result, write(e.parts[0]));
        if (e.parts[0].kind == Kind::repeat) result = "(?:" + result + ")";
        if (e.least <= 1 && e.most == Expression::endless) result += e.least ? '+' : '*';
        else if (e.least == 0 && e.most == 1) result += '?';
        else
            result += "{" + std::to_string(e.least) + "," +
                      (e.most == Expression::endless ? std::string() : std::to_string(e.most)) + "}";
        return e.lazy ? result + "?" : result;
    }

    static std::string anchor(Anchor anchor) {
        switch (anchor) {
        case Anchor::line_begin: return "(?:\\A|(?<=\\n)(?!\\z))";
        case Anchor::line_end: return "(?=\\n|\\z)";
        case Anchor::text_begin: return "\\A";
        case Anchor::text_end: return "\\z";
        case Anchor::last_line_end: return "(?=\\n?\\z)";
        case Anchor::word_edge:
        case Anchor::no_word_edge: break;
        }
        CodePoints letters = word();
        letters.add({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}}); // as \w outside classes
        const std::string w = set_text(letters);
        const bool edge = anchor == Anchor::word_edge;
        return "(?:(?<=" + w + ")(?" + (edge ? "!" : "=") + w + ")|(?<!" + w + ")(?" + (edge ? "=" : "!") +
               w + "))";
    }

    const std::string &where_;
};

} // namespace

Expected<std::string> pcre2_text(const Expression &expression, const std::string &where) {
    return Writer(where).write(expression);
}

} // namespace longwave::tokenizer
