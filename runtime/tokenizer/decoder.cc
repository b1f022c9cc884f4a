// Text from ids: complete UTF-8 characters only.
#include "runtime/tokenizer/text.h"
#include <algorithm>

struct lw_text_decoder {
    const lw_tokenizer *tokenizer = nullptr;
    std::string held;  // the start of a character, 0 to 3 bytes
    std::string ready; // what the last call gave
};

using longwave::tokenizer::failed;
using longwave::tokenizer::guarded;

lw_status lw_text_decoder_create(const lw_tokenizer *tokenizer, lw_text_decoder **out) {
    if (out) *out = nullptr;
    if (!tokenizer || !out)
        return failed(LW_INVALID_ARGUMENT, "lw_text_decoder_create: tokenizer or out is NULL");
    return guarded([&] {
        auto decoder = std::make_unique<lw_text_decoder>();
        decoder->tokenizer = tokenizer;
        *out = decoder.release();
        return LW_OK;
    });
}

void lw_text_decoder_destroy(lw_text_decoder *decoder) { delete decoder; }

lw_status lw_text_decoder_push(lw_text_decoder *decoder, int32_t id, const char **text, size_t *size) {
    if (!decoder || !text || !size)
        return failed(LW_INVALID_ARGUMENT, "lw_text_decoder_push: decoder, text or size is NULL");
    const char *bytes = nullptr;
    size_t n = 0;
    const lw_status status = lw_tokenizer_token(decoder->tokenizer, id, &bytes, &n);
    if (status != LW_OK) return status;
    return guarded([&] {
        std::string all = decoder->held + std::string(bytes, n);
        const size_t complete = all.size() - lw_utf8_incomplete(all.data(), all.size());
        decoder->held = all.substr(complete);
        all.resize(complete);
        decoder->ready = std::move(all);
        *text = decoder->ready.data();
        *size = decoder->ready.size();
        return LW_OK;
    });
}

lw_status lw_text_decoder_finish(lw_text_decoder *decoder, const char **text, size_t *size) {
    if (!decoder || !text || !size)
        return failed(LW_INVALID_ARGUMENT, "lw_text_decoder_finish: decoder, text or size is NULL");
    decoder->ready.swap(decoder->held);
    decoder->held.clear();
    *text = decoder->ready.data();
    *size = decoder->ready.size();
    return LW_OK;
}

size_t lw_utf8_incomplete(const char *text, size_t size) {
    for (size_t n = 1; n <= std::min<size_t>(3, size); n++) {
        const auto c = static_cast<unsigned char>(text[size - n]);
        if ((c & 0xC0) == 0x80) continue; // inside a character
        const size_t length = c >= 0xC2 && c < 0xE0   ? 2
                              : c >= 0xE0 && c < 0xF0 ? 3
                              : c >= 0xF0 && c < 0xF5 ? 4
                                                      : 1;
        return n < length ? n : 0;
    }
    return 0;
}
