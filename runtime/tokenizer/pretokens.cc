#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/tokenizer/pretokens.h"
#include <new>
#include <pcre2.h>

namespace longwave::tokenizer {
namespace {

std::string message_of(int code) {
    unsigned char text[256] = {};
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char *>(text);
}

// In these expressions \s is Unicode's White_Space. PCRE2's \s also matches U+180E, which Unicode
// 6.3 removed from that class.
std::string with_white_space(const std::string &expression) {
    std::string result;
    for (size_t i = 0; i < expression.size(); i++) {
        if (expression[i] != '\\' || i + 1 == expression.size()) {
            result += expression[i];
            continue;
        }
        const char escaped = expression[++i];
        if (escaped == 's') result += "\\p{White_Space}";
        else if (escaped == 'S') result += "\\P{White_Space}";
        else (result += '\\') += escaped;
    }
    return result;
}

} // namespace

Expected<Pattern> Pattern::compile(const std::string &expression, const std::string &where) {
    // The expression comes from the file: the limit ends a search that would take hours.
    const std::string text = "(*LIMIT_MATCH=1000000)" + with_white_space(expression);
    int error = 0;
    size_t at = 0;
    pcre2_code *code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr);
    if (!code && error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
    if (!code)
        return Status::input(where + ": wrong regular expression: " + message_of(error) + ": " + expression);
    Pattern pattern;
    pattern.code_ =
        std::shared_ptr<void>(code, [](void *p) { pcre2_code_free(static_cast<pcre2_code *>(p)); });
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); // faster, with the same results
    return pattern;
}

Status Pattern::split(std::string_view text, std::vector<std::string_view> &pieces) const {
    const auto *code = static_cast<const pcre2_code *>(code_.get());
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data *)> matched(
        pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
    if (!matched) return Status::device("not enough memory");
    pcre2_match_data *match = matched.get();
    size_t done = 0;
    for (size_t from = 0; from < text.size();) {
        const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, 0,
                                      match, nullptr);
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found == PCRE2_ERROR_NOMEMORY) return Status::device("not enough memory");
        if (found < 0) return Status::input("the tokenizer's regular expression: " + message_of(found));
        const size_t *range = pcre2_get_ovector_pointer(match);
        if (range[1] == range[0]) { // an empty match splits nothing
            from = range[1] + 1;
            while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) from++;
            continue;
        }
        if (range[0] > done) pieces.push_back(text.substr(done, range[0] - done));
        pieces.push_back(text.substr(range[0], range[1] - range[0]));
        from = done = range[1];
    }
    if (done < text.size()) pieces.push_back(text.substr(done));
    return {};
}

} // namespace longwave::tokenizer
