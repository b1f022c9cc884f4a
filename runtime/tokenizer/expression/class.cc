// Character classes: ranges, classes in classes, &&, [:names:].
#include "runtime/tokenizer/expression/cursor.h"
#include "runtime/tokenizer/unicode/unicode.h"

namespace longwave::tokenizer {
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
