// tokenizer.json and a text: everything up to the first zero byte is the file, the rest the text. What must hold:
// any file is read or refused in one line; the ids of a text are inside the vocabulary, and their bytes are the
// text again, but for spaces that the tokenizer puts in front of pieces.
#include "tests/fuzz/must.h"
#include "tools/cli/text/bpe.h"
#include <string_view>

using longwave::fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr uint32_t vocabulary = 1000;
    const std::string_view input(reinterpret_cast<const char *>(data), size);
    const size_t end = std::min(input.find('\0'), input.size());
    const auto tables = longwave::cli::bpe_of(input.substr(0, end), "file", vocabulary);
    const auto tokens = longwave::cli::tokenizer_of(input.substr(0, end), "file", vocabulary);
    must(static_cast<bool>(tables) == static_cast<bool>(tokens), "the tables decide");
    if (!tokens) {
        const std::string &line = tokens.status().message();
        must(line.starts_with("file: ") && line.find('\n') == std::string::npos,
             "one line says what is wrong");
        return 0;
    }
    const std::string text(end < size ? input.substr(end + 1) : std::string_view("it's 12 \xff words"));
    std::string again;
    for (const int32_t id : (*tokens)->encode(text)) {
        must(id >= 0 && id < static_cast<int32_t>(vocabulary), "ids are inside the vocabulary");
        again += (*tokens)->bytes(id);
    }
    must(tables->prefix_space || again == text, "the text comes back");
    return 0;
}
