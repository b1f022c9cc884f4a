#include "runtime/tokenizer/normalize.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <cstdlib>
#include <memory>
#include <new>
#include <utf8proc.h>

namespace longwave::tokenizer {
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
