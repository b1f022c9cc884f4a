// tokenizer.json and a text: everything up to the first zero byte is the file, the rest the text.
// The rules: any file is read, or rejected in one line. The ids of a text are inside the
// vocabulary. Their bytes are the text again, unless the tokenizer adds spaces, normalizes, or removes
// something. A decoder gives the same bytes.
#include "runtime/tokenizer/bpe.h"
#include "tests/fuzz/must.h"
#include <longwave/text.h>
#include <memory>
#include <string_view>

using longwave::fuzz::must;

namespace {

std::string decoded(const lw_tokenizer *tokenizer, const std::vector<int32_t> &ids) {
    lw_text_decoder *made = nullptr;
    must(lw_text_decoder_create(tokenizer, &made) == LW_OK, "a decoder is made");
    const std::unique_ptr<lw_text_decoder, void (*)(lw_text_decoder *)> decoder(made,
                                                                                lw_text_decoder_destroy);
    std::string text;
    const char *piece = nullptr;
    size_t size = 0;
    for (const int32_t id : ids) {
        must(lw_text_decoder_push(made, id, &piece, &size) == LW_OK, "ids are inside the vocabulary");
        text.append(piece, size);
    }
    must(lw_text_decoder_finish(made, &piece, &size) == LW_OK, "a decoder ends");
    return text.append(piece, size);
}

// The bytes of the ids are the text again.
bool keeps(const longwave::tokenizer::BpeTables &tables) {
    bool result = tables.keeps_text;
    for (const longwave::tokenizer::Step &step : tables.steps) result = result && !step.prefix_space;
    return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    constexpr uint32_t vocabulary = 1000;
    const std::string_view input(reinterpret_cast<const char *>(data), size);
    const size_t end = std::min(input.find('\0'), input.size());
    const auto tables = longwave::tokenizer::bpe_of(input.substr(0, end), "file", vocabulary);
    lw_tokenizer_options options = {};
    options.struct_size = sizeof options;
    options.vocabulary = vocabulary;
    options.name = "file";
    lw_tokenizer *made = nullptr;
    const lw_status status = lw_tokenizer_open_memory(data, end, &options, &made);
    const std::unique_ptr<lw_tokenizer, void (*)(lw_tokenizer *)> tokenizer(made, lw_tokenizer_close);
    must(static_cast<bool>(tables) == (status == LW_OK), "the tables decide");
    if (!made) {
        const std::string_view line = lw_last_error();
        must(line.starts_with("file: ") && line.find('\n') == std::string_view::npos,
             "one line says what is wrong");
        return 0;
    }
    const std::string text(end < size ? input.substr(end + 1) : std::string_view("it's 12 \xff words"));
    size_t n = 0;
    const lw_status encoded = lw_tokenizer_encode(made, text.data(), text.size(), nullptr, 0, &n);
    if (encoded == LW_UNSUPPORTED) return 0; // an expression takes too many steps
    must(encoded == LW_OK, "a text has ids");
    std::vector<int32_t> ids(n);
    must(lw_tokenizer_encode(made, text.data(), text.size(), ids.data(), n, &n) == LW_OK,
         "the same ids again");
    std::string again;
    for (const int32_t id : ids) {
        const char *bytes = nullptr;
        size_t length = 0;
        must(lw_tokenizer_token(made, id, &bytes, &length) == LW_OK, "ids are inside the vocabulary");
        again.append(bytes, length);
    }
    must(!keeps(*tables) || again == text, "the text comes back");
    must(decoded(made, ids) == again, "a decoder gives the same bytes");
    return 0;
}
