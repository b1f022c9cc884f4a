#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/tokenizer/pretokens.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>
#include <new>
#include <pcre2.h>

namespace longwave::tokenizer {
namespace {

std::string message_of(int code) {
    unsigned char text[256] = {};
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char *>(text);
}

template <class T> using Owned = std::unique_ptr<T, void (*)(T *)>;

// Searches one text.
class Search {
public:
    Search(const pcre2_code *code, std::string_view text)
        : code_(code), text_(text),
          match_(pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free),
          limits_(pcre2_match_context_create(nullptr), pcre2_match_context_free) {
        if (!match_ || !limits_) return;
        // The expression comes from the file: the limits end a search that would take hours, or
        // gigabytes. From one place, the expressions of tokenizers take steps in proportion to the
        // text.
        constexpr size_t most_steps = 10000000, kib = 65536;
        pcre2_set_match_limit(limits_.get(),
                              static_cast<uint32_t>(std::min(most_steps, 100000 + 20 * text.size())));
        pcre2_set_heap_limit(limits_.get(), kib);
    }
    bool ready() const { return match_ && limits_; }
    // The next match from a byte on: its bounds are range(). A code of PCRE2 below 0: none.
    int next(size_t from) {
        const int found = match(from, 0);
        // The stack of compiled code is small: what needs more is interpreted.
        return found == PCRE2_ERROR_JIT_STACKLIMIT ? match(from, PCRE2_NO_JIT) : found;
    }
    const size_t *range() const { return pcre2_get_ovector_pointer(match_.get()); }

private:
    int match(size_t from, uint32_t options) {
        return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from, options,
                           match_.get(), limits_.get());
    }
    const pcre2_code *code_;
    const std::string_view text_;
    const Owned<pcre2_match_data> match_;
    const Owned<pcre2_match_context> limits_;
};

} // namespace

Expected<Pattern> Pattern::compile(std::string_view expression, const std::string &where) {
    LW_ASSIGN(const Expression tree, parse_expression(expression, where));
    return compile(tree, where);
}

Expected<Pattern> Pattern::compile(const Expression &expression, const std::string &where) {
    LW_ASSIGN(const std::string text, pcre2_text(expression, where));
    int error = 0;
    size_t at = 0;
    pcre2_code *code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                      PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
    if (!code && error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
    if (!code) return Status::input(where + ": PCRE2 cannot take the expression: " + message_of(error));
    Pattern pattern;
    pattern.code_ =
        std::shared_ptr<void>(code, [](void *p) { pcre2_code_free(static_cast<pcre2_code *>(p)); });
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); // faster, with the same results
    return pattern;
}

Expected<std::vector<Part>> Pattern::parts(std::string_view text) const {
    Search search(static_cast<const pcre2_code *>(code_.get()), text);
    if (!search.ready()) return Status::device("not enough memory");
    std::vector<Part> parts;
    constexpr size_t never = static_cast<size_t>(-1);
    size_t done = 0, last_end = never;
    for (size_t from = 0; from <= text.size();) {
        const int found = search.next(from);
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found == PCRE2_ERROR_NOMEMORY) return Status::device("not enough memory");
        if (found < 0)
            return Status::input("a regular expression of the tokenizer takes too many steps on this text: " +
                                 message_of(found));
        const size_t *range = search.range();
        if (range[0] == range[1] && range[1] == last_end) { // an empty match right after another one
            from += from < text.size() ? decode(text.substr(from)).bytes : 1;
            continue;
        }
        if (range[0] > done) parts.push_back({text.substr(done, range[0] - done), false});
        parts.push_back({text.substr(range[0], range[1] - range[0]), true});
        from = done = last_end = range[1];
    }
    if (done < text.size()) parts.push_back({text.substr(done), false});
    return parts;
}

} // namespace longwave::tokenizer
