#include "runtime/tokenizer/steps.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <unordered_map>
#include <utf8proc.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace longwave::tokenizer {
namespace {

struct ByteCharacters {
    std::array<std::string, 256> of_byte;
    std::unordered_map<std::string, char> bytes;
    ByteCharacters() {
        uint32_t next = 0x100;
        for (uint32_t byte = 0; byte < 256; byte++) {
            const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
            const uint32_t c = itself ? byte : next++;
            std::string &utf8 = of_byte[byte];
            if (c < 0x80) utf8 = {static_cast<char>(c)};
            else utf8 = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
            bytes[utf8] = static_cast<char>(byte);
        }
    }
};

const ByteCharacters &byte_characters() {
    static const ByteCharacters characters;
    return characters;
}

std::string mapped(std::string_view text) {
    std::string result;
    for (const char c : text) result += character_of(static_cast<unsigned char>(c));
    return result;
}

// Every character of the set is a match of its own.
std::vector<Part> parts_by(const CodePoints &set, std::string_view text) {
    std::vector<Part> parts;
    size_t done = 0;
    for (size_t i = 0; i < text.size();) {
        const Decoded decoded = decode(text.substr(i));
        if (set.contains(decoded.c)) {
            if (i > done) parts.push_back({text.substr(done, i - done), false});
            parts.push_back({text.substr(i, decoded.bytes), true});
            done = i + decoded.bytes;
        }
        i += decoded.bytes;
    }
    if (done < text.size()) parts.push_back({text.substr(done), false});
    return parts;
}

// Two parts that follow one another in one text.
std::string_view joined(std::string_view a, std::string_view b) { return {a.data(), a.size() + b.size()}; }

void add_merged(const std::vector<Part> &parts, Behavior behavior, std::vector<std::string_view> &result) {
    const size_t start = result.size();
    bool before = false; // whether the part before was a match
    for (const Part &part : parts) {
        const bool merge =
            behavior == Behavior::contiguous ? part.matched == before : part.matched && !before;
        if (merge && result.size() > start) result.back() = joined(result.back(), part.text);
        else result.push_back(part.text);
        before = part.matched;
    }
}

void add_merged_with_next(const std::vector<Part> &parts, std::vector<std::string_view> &result) {
    const size_t start = result.size();
    bool after = false; // whether the part after was a match
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->matched && !after && result.size() > start)
            result.back() = joined(part->text, result.back());
        else result.push_back(part->text);
        after = part->matched;
    }
    std::reverse(result.begin() + static_cast<ptrdiff_t>(start), result.end());
}

void add(const std::vector<Part> &parts, Behavior behavior, std::vector<std::string_view> &result) {
    switch (behavior) {
    case Behavior::removed:
        for (const Part &part : parts)
            if (!part.matched) result.push_back(part.text);
        return;
    case Behavior::isolated:
        for (const Part &part : parts) result.push_back(part.text);
        return;
    case Behavior::merged_with_next: return add_merged_with_next(parts, result);
    case Behavior::merged_with_previous:
    case Behavior::contiguous: return add_merged(parts, behavior, result);
    }
}

Status cut_by(const Step &step, std::string_view piece, std::vector<std::string_view> &result) {
    std::vector<Part> parts;
    if (step.kind == Step::Kind::set) {
        parts = parts_by(step.set, piece);
    } else {
        LW_ASSIGN(parts, step.pattern->parts(piece));
    }
    if (step.invert)
        for (Part &part : parts) part.matched = !part.matched;
    const size_t start = result.size();
    add(parts, step.behavior, result);
    result.erase(std::remove_if(result.begin() + static_cast<ptrdiff_t>(start), result.end(),
                                [](std::string_view text) { return text.empty(); }),
                 result.end());
    return {};
}

} // namespace

const std::string &character_of(unsigned char byte) { return byte_characters().of_byte[byte]; }

std::optional<std::string> bytes_of(std::string_view text) {
    const auto &characters = byte_characters().bytes;
    std::string bytes;
    for (size_t i = 0; i < text.size();) {
        const size_t n = (static_cast<unsigned char>(text[i]) & 0x80) ? 2 : 1;
        const auto byte = characters.find(std::string(text.substr(i, n)));
        if (byte == characters.end()) return std::nullopt;
        bytes += byte->second;
        i += n;
    }
    return bytes;
}

Expected<Pieces> cut(std::string_view text, const std::vector<Step> &steps) {
    Pieces pieces;
    pieces.list = {text};
    bool as_characters = false; // every byte is a character
    for (const Step &step : steps) {
        std::vector<std::string_view> finer;
        for (std::string_view piece : pieces.list) {
            if (step.prefix_space && piece[0] != ' ')
                piece = pieces.made.emplace_back(' ' + std::string(piece));
            if (step.kind == Step::Kind::byte_level && !step.pattern) finer.push_back(piece);
            else LW_TRY(cut_by(step, piece, finer));
        }
        pieces.list.swap(finer);
        if (step.kind != Step::Kind::byte_level || &step == &steps.back()) continue;
        as_characters = true;
        for (std::string_view &piece : pieces.list) piece = pieces.made.emplace_back(mapped(piece));
    }
    if (as_characters)
        for (std::string_view &piece : pieces.list)
            piece = pieces.made.emplace_back(bytes_of(piece).value_or(""));
    return pieces;
}

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

namespace {

utf8proc_option_t options_of(Form form) {
    switch (form) {
    case Form::nfc: return UTF8PROC_COMPOSE;
    case Form::nfd: return UTF8PROC_DECOMPOSE;
    case Form::nfkc: return static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case Form::nfkd: return static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
    }
    return UTF8PROC_COMPOSE;
}

void add(std::string_view text, Form form, std::string &result) {
    utf8proc_uint8_t *bytes = nullptr;
    const utf8proc_ssize_t n = utf8proc_map(
        reinterpret_cast<const utf8proc_uint8_t *>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
        &bytes, static_cast<utf8proc_option_t>(options_of(form) | UTF8PROC_STABLE));
    const std::unique_ptr<utf8proc_uint8_t, void (*)(void *)> owner(bytes, std::free);
    if (n < 0) throw std::bad_alloc(); // the text is UTF-8: nothing else can fail
    result.append(reinterpret_cast<const char *>(bytes), static_cast<size_t>(n));
}

// Characters that the package `tokenizers` does not normalize neither combine with others nor move:
// the text on each side of them is normalized alone.
std::string in_form(std::string_view text, Form form) {
    static const CodePoints kept = not_normalized();
    std::string result;
    size_t done = 0, ascii = 0; // ascii: the text from `done` on is ASCII up to here
    for (size_t i = 0; i < text.size();) {
        const Decoded decoded = decode(text.substr(i));
        const size_t next = i + decoded.bytes;
        if (decoded.c == Decoded::invalid || (decoded.c >= 0x80 && kept.contains(decoded.c))) {
            if (i > done) add(text.substr(done, i - done), form, result);
            result += text.substr(i, decoded.bytes);
            done = ascii = next;
        } else if (decoded.c < 0x80 && ascii == i) {
            ascii = next;
        }
        i = next;
    }
    if (done == 0 && ascii == text.size()) return std::string(text);
    if (done < text.size()) add(text.substr(done), form, result);
    return result;
}

} // namespace

std::string normalized(std::string_view text, const std::vector<Form> &forms) {
    std::string result(text);
    for (const Form form : forms) result = in_form(result, form);
    return result;
}

} // namespace longwave::tokenizer
