// Groups, alternatives and repeats.
#include "runtime/tokenizer/expression/cursor.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>

namespace longwave::tokenizer {
namespace {

using Kind = Expression::Kind;
using Anchor = Expression::Anchor;

constexpr uint32_t most_repeats_of_one = 5;

struct Options {
    bool fold = false, dot_is_any = false, extended = false;
};

Expression of(Kind kind, std::vector<Expression> parts) {
    Expression result;
    result.kind = kind;
    result.parts = std::move(parts);
    return result;
}

Expression of(CodePoints set) {
    Expression result;
    result.kind = Kind::set;
    result.set = std::move(set);
    return result;
}

Expression of(Anchor anchor) {
    Expression result;
    result.kind = Kind::anchor;
    result.anchor = anchor;
    return result;
}

// The letter without regard to case that an item begins or ends with; 0: another thing.
char letter_of(const Expression &item) {
    if (!item.folds) return 0;
    for (const char c : {'f', 'i', 'l', 's', 't'})
        if (item.set.contains(static_cast<uint32_t>(c))) return c;
    return 0;
}
char first_letter(const Expression &item) {
    return item.parts.empty() ? letter_of(item) : first_letter(item.parts.front());
}
char last_letter(const Expression &item) {
    return item.parts.empty() ? letter_of(item) : last_letter(item.parts.back());
}

bool may_be_empty(const Expression &item) {
    switch (item.kind) {
    case Kind::set:
    case Kind::newline: return false;
    case Kind::anchor:
    case Kind::look: return true;
    case Kind::repeat: return item.least == 0 || may_be_empty(item.parts[0]);
    case Kind::choice: return std::any_of(item.parts.begin(), item.parts.end(), may_be_empty);
    case Kind::atomic:
    case Kind::sequence: break;
    }
    return std::all_of(item.parts.begin(), item.parts.end(), may_be_empty);
}

// Without regard to case, Oniguruma takes the sharp s for ss and the ligatures for their letters.
bool is_one_letter(char before, char after) {
    return (before == 's' && (after == 's' || after == 't')) ||
           (before == 'f' && (after == 'f' || after == 'i' || after == 'l'));
}

class Parser {
public:
    Parser(std::string_view text, const std::string &where) : cursor_(text, where) {}

    Expected<Expression> parse() {
        LW_ASSIGN(Expression result, alternatives({}, 0));
        if (!cursor_.ended()) return cursor_.wrong(") without (", cursor_.at());
        return result;
    }

private:
    // Up to the end or a ), which stays.
    Expected<Expression> alternatives(Options options, uint32_t depth) {
        if (depth > most_expression_depth)
            return cursor_.unsupported(
                "more than " + std::to_string(most_expression_depth) + " nested groups", cursor_.at());
        std::vector<Expression> branches;
        do {
            LW_ASSIGN(Expression one, branch(options, depth));
            branches.push_back(std::move(one));
        } while (cursor_.take("|"));
        if (branches.size() == 1) return std::move(branches[0]);
        return of(Kind::choice, std::move(branches));
    }

    Expected<Expression> branch(Options options, uint32_t depth) {
        std::vector<Expression> parts;
        for (;;) {
            LW_TRY(skip(options));
            if (cursor_.ended() || cursor_.sees("|") || cursor_.sees(")")) break;
            bool rest = false;
            const size_t start = cursor_.at();
            LW_ASSIGN(Expression part, item(options, depth, rest));
            if (!rest) LW_TRY(repeats(options, part));
            if (!parts.empty() && is_one_letter(last_letter(parts.back()), first_letter(part)))
                return cursor_.unsupported("two letters that are also one character without regard to case",
                                           start);
            parts.push_back(std::move(part));
        }
        if (parts.size() == 1) return std::move(parts[0]);
        return of(Kind::sequence, std::move(parts));
    }

    // Comments, and spaces with (?x).
    Status skip(const Options &options) {
        for (;;) {
            const size_t start = cursor_.at();
            if (cursor_.take("(?#")) {
                while (!cursor_.take(")")) {
                    if (cursor_.ended()) return cursor_.wrong("a comment without )", start);
                    if (cursor_.next() == '\\' && !cursor_.ended()) (void)cursor_.next();
                }
            } else if (options.extended && cursor_.take("#")) {
                while (!cursor_.ended() && cursor_.next() != '\n') continue;
            } else if (!options.extended || !(cursor_.take(" ") || cursor_.take("\t") || cursor_.take("\n") ||
                                              cursor_.take("\r") || cursor_.take("\f"))) {
                return {};
            }
        }
    }

    // rest: it was (?i) or the like, with everything up to the end of the group.
    Expected<Expression> item(const Options &options, uint32_t depth, bool &rest) {
        const size_t start = cursor_.at();
        const uint32_t c = cursor_.next();
        switch (c) {
        case '(': return group(options, depth, rest);
        case '[': {
            LW_ASSIGN(CodePoints set, parse_class(cursor_, options.fold));
            return of(std::move(set));
        }
        case '.': return of(options.dot_is_any ? CodePoints{{0, CodePoints::largest}} : not_line_end());
        case '^': return of(Anchor::line_begin);
        case '$': return of(Anchor::line_end);
        case '*':
        case '+':
        case '?': return cursor_.wrong("a repeat without something before it", start);
        case '{': {
            Expression nothing;
            bool exact = false;
            if (interval(nothing, exact)) return cursor_.wrong("a repeat without something before it", start);
            return letter('{', options, start);
        }
        case '\\': return escape(options, start);
        default: return letter(c, options, start);
        }
    }

    static CodePoints not_line_end() { return CodePoints{{'\n', '\n'}}.complement(); }

    Expected<Expression> letter(uint32_t c, const Options &options, size_t at) {
        if (!options.fold) return of(CodePoints{{c, c}});
        std::optional<CodePoints> forms = folded(c);
        if (!forms) return cursor_.unsupported("a letter beyond ASCII without regard to case", at);
        Expression result = of(*std::move(forms));
        result.folds = true;
        return result;
    }

    Expected<Expression> escape(const Options &options, size_t start) {
        for (const auto &[name, anchor] : {std::pair{"b", Anchor::word_edge},
                                           {"B", Anchor::no_word_edge},
                                           {"A", Anchor::text_begin},
                                           {"z", Anchor::text_end},
                                           {"Z", Anchor::last_line_end}})
            if (cursor_.take(name)) return of(anchor);
        for (const char *name : {"G", "K", "X", "y", "Y", "k", "g"})
            if (cursor_.sees(name)) return cursor_.unsupported(std::string("\\") + name, start);
        if (cursor_.take("R")) return of(Kind::newline, {});
        if (cursor_.take("N")) return of(not_line_end());
        if (cursor_.take("O")) return of(CodePoints{{0, CodePoints::largest}});
        LW_ASSIGN(Cursor::Escape found, cursor_.escape(false));
        if (!found.character) return of(std::move(found.set));
        if (found.by_number && options.fold && folded(found.c) && folded(found.c)->ranges().size() == 1)
            return of(CodePoints{{found.c, found.c}});
        if (found.by_number && options.fold)
            return cursor_.unsupported("a letter by its number without regard to case", start);
        return letter(found.c, options, start);
    }

    // After its (.
    Expected<Expression> group(const Options &options, uint32_t depth, bool &rest) {
        const size_t start = cursor_.at() - 1;
        Expression result;
        Options inner = options;
        result.kind = Kind::sequence;
        if (cursor_.sees("*")) return cursor_.unsupported("a callout", start);
        if (cursor_.take("?")) {
            if (cursor_.take(">")) result.kind = Kind::atomic;
            else if (cursor_.take("=")) result = look(true, false);
            else if (cursor_.take("!")) result = look(true, true);
            else if (cursor_.take("<=")) result = look(false, false);
            else if (cursor_.take("<!")) result = look(false, true);
            else if (cursor_.take("<") || cursor_.take("'")) LW_TRY(skip_name(start));
            else if (!cursor_.take(":")) {
                LW_TRY(read_options(inner, start));
                rest = cursor_.take(")");
                if (!rest && !cursor_.take(":")) return cursor_.unsupported("a group of this kind", start);
            }
        }
        LW_ASSIGN(Expression body, alternatives(inner, depth + 1));
        // (?i) holds up to the end of the group around it, over | too; the ) belongs to that group.
        if (!rest && !cursor_.take(")")) return cursor_.wrong("( without )", start);
        result.parts.push_back(std::move(body));
        return result;
    }

    static Expression look(bool ahead, bool negative) {
        Expression result;
        result.kind = Kind::look;
        result.ahead = ahead;
        result.negative = negative;
        return result;
    }

    // No back-reference uses the name.
    Status skip_name(size_t start) {
        while (!cursor_.take(">") && !cursor_.take("'")) {
            if (cursor_.ended() || !word().contains(cursor_.next()))
                return cursor_.wrong("a group with a wrong name", start);
        }
        return {};
    }

    Status read_options(Options &options, size_t start) {
        for (bool on = true;;) {
            if (on && cursor_.take("-")) on = false;
            else if (cursor_.take("i")) options.fold = on;
            else if (cursor_.take("m")) options.dot_is_any = on;
            else if (cursor_.take("x")) options.extended = on;
            else if (cursor_.sees(":") || cursor_.sees(")")) return {};
            else return cursor_.unsupported("a group of this kind", start);
        }
    }

    // {n,m} after its {. False: it is text.
    bool interval(Expression &repeat, bool &exact) {
        const size_t start = cursor_.at();
        constexpr size_t digits = 9;
        const std::optional<uint32_t> least = cursor_.number(10, digits);
        const bool comma = cursor_.take(",");
        const std::optional<uint32_t> most = comma ? cursor_.number(10, digits) : least;
        if ((!least && !most) || !cursor_.take("}")) {
            cursor_.go_to(start);
            return false;
        }
        exact = !comma;
        repeat.least = least.value_or(0);
        repeat.most = most.value_or(Expression::endless);
        return true;
    }

    // Every repeat after an item, each of the whole before it.
    Status repeats(const Options &options, Expression &item) {
        for (uint32_t n = 0;; n++) {
            LW_TRY(skip(options));
            const size_t start = cursor_.at();
            if (n == most_repeats_of_one) return cursor_.unsupported("many repeats of one item", start);
            Expression repeat = of(Kind::repeat, {});
            bool brace = false, exact = false, possessive = false;
            if (cursor_.take("*")) repeat.most = Expression::endless;
            else if (cursor_.take("+")) repeat.least = 1, repeat.most = Expression::endless;
            else if (cursor_.take("?")) repeat.most = 1;
            else if (cursor_.take("{")) {
                brace = true;
                if (!interval(repeat, exact)) {
                    cursor_.go_to(start);
                    return {};
                }
            } else return {};
            if (item.kind == Kind::anchor || item.kind == Kind::look)
                return cursor_.unsupported("a repeat of a position", start);
            if (repeat.least > repeat.most) { // {3,1} does not give back
                std::swap(repeat.least, repeat.most);
                possessive = true;
            }
            // Libraries differ in how such a loop ends.
            if (repeat.most > 1 && may_be_empty(item))
                return cursor_.unsupported("a repeat of something that may be empty", start);
            if (repeat.least > most_repeats ||
                (repeat.most != Expression::endless && repeat.most > most_repeats))
                return cursor_.unsupported("more than " + std::to_string(most_repeats) + " repeats", start);
            // {n}? and {n,m}+ are repeats of repeats.
            if (!possessive && !exact && cursor_.take("?")) repeat.lazy = true;
            else if (!brace && cursor_.take("+")) possessive = true;
            if (repeat.most > 1 && is_one_letter(last_letter(item), first_letter(item)))
                return cursor_.unsupported("two letters that are also one character without regard to case",
                                           start);
            repeat.parts.push_back(std::move(item));
            item = std::move(repeat);
            if (!possessive) continue;
            Expression atomic = of(Kind::atomic, {});
            atomic.parts.push_back(std::move(item));
            item = std::move(atomic);
        }
    }

    Cursor cursor_;
};

} // namespace

Expected<Expression> parse_expression(std::string_view text, const std::string &where) {
    if (text.size() > most_expression_bytes)
        return Status::input(where + ": the expression has " + std::to_string(text.size()) +
                             " bytes; at most " + std::to_string(most_expression_bytes) + " are supported");
    return Parser(text, where).parse();
}

// Character classes: ranges, classes in classes, &&, [:names:].

namespace {

class ClassReader {
public:
    ClassReader(Cursor &cursor, uint32_t depth) : cursor_(cursor), depth_(depth) {}

    // The set without its negation.
    Expected<CodePoints> read(bool &negative) {
        const size_t start = cursor_.at() - 1;
        if (depth_ > most_expression_depth) return cursor_.unsupported("too many classes in classes", start);
        negative = cursor_.take("^");
        if (cursor_.sees("]")) return cursor_.unsupported("a class that begins with ]", start);
        while (!cursor_.take("]")) {
            if (cursor_.ended()) return cursor_.wrong("[ without ]", start);
            LW_TRY(item());
        }
        flush();
        if (intersected_) set_ = before_.both(set_);
        return std::move(set_);
    }

private:
    // What came last: nothing, a character that may begin a range, a set, a character and its -, or
    // a whole range.
    enum class State { start, character, set, range, complete };

    Status item() {
        const size_t at = cursor_.at();
        if (cursor_.take("&&")) {
            flush();
            state_ = State::start;
            before_ = intersected_ ? before_.both(set_) : std::move(set_);
            intersected_ = true;
            set_ = {};
            return {};
        }
        if (cursor_.take("-")) return minus(at);
        if (cursor_.take("[")) return open(at);
        if (cursor_.take("\\")) {
            LW_ASSIGN(const Cursor::Escape escape, cursor_.escape(true));
            return escape.character ? put(escape.c, at) : put(escape.set, at);
        }
        return put(cursor_.next(), at);
    }
    Status minus(size_t at) {
        const bool last = cursor_.sees("]") || cursor_.sees("&&");
        if (state_ == State::set && !last) return cursor_.wrong("a range that begins with a class", at);
        if (state_ != State::character || last) return put('-', at);
        state_ = State::range;
        return {};
    }
    Status open(size_t at) {
        if (cursor_.take(":")) {
            const bool negative = cursor_.take("^");
            std::string name;
            while (!cursor_.ended() && !cursor_.sees(":]") && name.size() < 20)
                name += static_cast<char>(cursor_.next());
            const std::optional<CodePoints> set = posix_class(name);
            if (!set || !cursor_.take(":]"))
                return cursor_.unsupported("[: without one of the known names", at);
            return put(negative ? set->complement() : *set, at);
        }
        if (state_ == State::range) return cursor_.unsupported("a range that ends with a class", at);
        flush();
        state_ = State::complete;
        ClassReader inner(cursor_, depth_ + 1);
        bool negative = false;
        LW_ASSIGN(const CodePoints set, inner.read(negative));
        set_.add(negative ? set.complement() : set);
        return {};
    }
    Status put(const CodePoints &set, size_t at) {
        if (state_ == State::range) return cursor_.wrong("a range that ends with a class", at);
        flush();
        set_.add(set);
        state_ = State::set;
        return {};
    }
    Status put(uint32_t c, size_t at) {
        if (state_ == State::range) {
            if (c < last_) return cursor_.wrong("a range that ends before it begins", at);
            set_.add(last_, c);
            state_ = State::complete;
            return {};
        }
        flush();
        last_ = c;
        state_ = State::character;
        return {};
    }
    void flush() {
        if (state_ == State::character) set_.add(last_, last_);
    }

    Cursor &cursor_;
    const uint32_t depth_;
    State state_ = State::start;
    uint32_t last_ = 0;
    CodePoints set_, before_; // since the last &&, and before it
    bool intersected_ = false;
};

} // namespace

Expected<CodePoints> parse_class(Cursor &cursor, bool fold) {
    const size_t start = cursor.at() - 1;
    bool negative = false;
    LW_ASSIGN(CodePoints set, ClassReader(cursor, 0).read(negative));
    if (fold) { // before the negation, as Oniguruma does
        CodePoints wide = set;
        for (const CodePoints::Range &range : set.ranges())
            for (uint32_t c = range.first; c <= range.last; c++) {
                const std::optional<CodePoints> forms = folded(c);
                if (!forms)
                    return cursor.unsupported("letters beyond ASCII in a class without regard to case",
                                              start);
                if (forms->ranges().size() > 1) wide.add(*forms);
            }
        set = std::move(wide);
    }
    return negative ? set.complement() : set;
}

} // namespace longwave::tokenizer
