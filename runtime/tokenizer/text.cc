// The C interface (longwave/text.h): a tokenizer, how its failures are reported, and a decoder.
#include "formats/base/status.h"
#include "runtime/platform/files.h"
#include "runtime/tokenizer/bpe.h"
#include <algorithm>
#include <cstring>
#include <longwave/text.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>

struct lw_tokenizer {
    std::unique_ptr<const longwave::tokenizer::Bpe> bpe; // null: ids are bytes
    std::vector<std::string> bytes;                      // of every id, without bpe

    const std::vector<std::string> &tokens() const { return bpe ? bpe->tables().bytes : bytes; }
};

namespace longwave::tokenizer {

// Keeps the detail for lw_last_error() and returns the status. Takes no memory.
lw_status failed(lw_status status, std::string_view detail);

// Calls `body`, which returns an lw_status. No exception leaves the library: the only one is a lack
// of memory.
template <class Body> lw_status guarded(Body body) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return failed(LW_NO_MEMORY, "not enough memory");
    } catch (const std::length_error &) { // of a container
        return failed(LW_NO_MEMORY, "not enough memory");
    }
}

} // namespace longwave::tokenizer

using longwave::tokenizer::Bpe;
using longwave::tokenizer::failed;
using longwave::tokenizer::guarded;

namespace longwave::tokenizer {
namespace {

constexpr size_t max_file = size_t{256} << 20; // bytes

lw_status bad_argument(const char *what) { return failed(LW_INVALID_ARGUMENT, what); }

// The fields that the caller knows; the others are zero. Bytes that this library does not know must be
// zero: what they ask for would be ignored.
lw_status read_options(const lw_tokenizer_options *given, lw_tokenizer_options &options) {
    options = {};
    if (!given) return LW_OK;
    constexpr size_t known = sizeof options, largest = 4096; // a longer struct has no initialiser
    if (given->struct_size < sizeof(size_t) || given->struct_size > largest)
        return bad_argument("struct_size of lw_tokenizer_options is not set");
    const auto *bytes = reinterpret_cast<const unsigned char *>(given);
    if (std::any_of(bytes + std::min(known, given->struct_size), bytes + given->struct_size,
                    [](unsigned char b) { return b != 0; }))
        return bad_argument(
            "lw_tokenizer_options sets a field that this library does not know; update the library, or "
            "leave the field 0");
    std::memcpy(&options, given, std::min(given->struct_size, known));
    return LW_OK;
}

lw_status open_text(std::string_view text, const std::string &name, uint32_t vocabulary, lw_tokenizer **out) {
    if (text.size() > max_file) return failed(LW_UNSUPPORTED, name + ": is larger than 256 MiB");
    auto tables = bpe_of(text, name, vocabulary);
    if (!tables)
        return failed(tables.status().fault() == Fault::usage ? LW_BAD_TOKEN : LW_UNSUPPORTED,
                      tables.status().message());
    auto tokenizer = std::make_unique<lw_tokenizer>();
    tokenizer->bpe = std::make_unique<const Bpe>(*std::move(tables));
    *out = tokenizer.release();
    return LW_OK;
}

// Not stdio: it takes memory that it reports as a failing file, and gives up when a signal comes.
lw_status read_file(const char *path, const std::string &name, std::string &text) {
    platform::File file;
    if (!file.open_any(path))
        return failed(file.missing() ? LW_NOT_FOUND : LW_IO,
                      name + ": cannot be read: " + std::strerror(file.error()));
    constexpr size_t step = size_t{1} << 20;
    for (;;) {
        const size_t before = text.size();
        text.resize(before + step);
        const int64_t n = file.read_some(text.data() + before, step);
        if (n < 0) return failed(LW_IO, name + ": cannot be read: " + std::strerror(file.error()));
        text.resize(before + static_cast<size_t>(n));
        if (n == 0 || text.size() > max_file) return LW_OK;
    }
}

} // namespace

lw_status failed(lw_status status, std::string_view detail) {
    char text[512]; // lw_last_error keeps no more
    const size_t n = std::min(detail.size(), sizeof text - 1);
    std::memcpy(text, detail.data(), n);
    text[n] = 0;
    lw_set_last_error(text);
    return status;
}

} // namespace longwave::tokenizer

lw_status lw_tokenizer_open(const char *path, const lw_tokenizer_options *given, lw_tokenizer **out) {
    using namespace longwave::tokenizer;
    if (!out) return bad_argument("lw_tokenizer_open: out is NULL");
    *out = nullptr;
    lw_tokenizer_options options;
    if (!path) return bad_argument("lw_tokenizer_open: path is NULL");
    if (const lw_status status = read_options(given, options)) return status;
    return guarded([&] {
        const std::string name = options.name ? options.name : path;
        std::string text;
        const lw_status status = read_file(path, name, text);
        return status == LW_OK ? open_text(text, name, options.vocabulary, out) : status;
    });
}

lw_status lw_tokenizer_open_memory(const void *bytes, size_t size, const lw_tokenizer_options *given,
                                   lw_tokenizer **out) {
    using namespace longwave::tokenizer;
    if (!out) return bad_argument("lw_tokenizer_open_memory: out is NULL");
    *out = nullptr;
    lw_tokenizer_options options;
    if (!bytes && size > 0) return bad_argument("lw_tokenizer_open_memory: bytes is NULL");
    if (const lw_status status = read_options(given, options)) return status;
    return guarded([&] {
        return open_text({static_cast<const char *>(bytes), size}, options.name ? options.name : "tokenizer",
                         options.vocabulary, out);
    });
}

lw_status lw_tokenizer_open_bytes(lw_tokenizer **out) {
    if (!out) return longwave::tokenizer::bad_argument("lw_tokenizer_open_bytes: out is NULL");
    *out = nullptr;
    return guarded([&] {
        auto tokenizer = std::make_unique<lw_tokenizer>();
        for (int byte = 0; byte < 256; byte++) tokenizer->bytes.emplace_back(1, static_cast<char>(byte));
        *out = tokenizer.release();
        return LW_OK;
    });
}

void lw_tokenizer_close(lw_tokenizer *tokenizer) { delete tokenizer; }

uint32_t lw_tokenizer_vocabulary(const lw_tokenizer *tokenizer) {
    return tokenizer ? static_cast<uint32_t>(tokenizer->tokens().size()) : 0;
}

int lw_tokenizer_divisible(const lw_tokenizer *tokenizer) { return tokenizer && !tokenizer->bpe; }

lw_status lw_tokenizer_encode(const lw_tokenizer *tokenizer, const char *text, size_t size, int32_t *ids,
                              size_t capacity, size_t *n) {
    return lw_tokenizer_encode_special(tokenizer, text, size, 0, ids, capacity, n);
}

lw_status lw_tokenizer_encode_special(const lw_tokenizer *tokenizer, const char *text, size_t size,
                                      uint32_t special, int32_t *ids, size_t capacity, size_t *n) {
    using namespace longwave::tokenizer;
    if (special & ~uint32_t{LW_TEXT_BEGIN | LW_TEXT_END})
        return bad_argument(
            "lw_tokenizer_encode_special: special has bits other than LW_TEXT_BEGIN and LW_TEXT_END");
    if (!tokenizer || (!text && size > 0) || !n)
        return bad_argument("lw_tokenizer_encode: tokenizer, text or n is NULL");
    return guarded([&] {
        std::vector<int32_t> found;
        if (!tokenizer->bpe) {
            for (size_t i = 0; i < size; i++) found.push_back(static_cast<unsigned char>(text[i]));
        } else {
            auto encoded = tokenizer->bpe->encode({text, size});
            if (!encoded)
                return failed(encoded.status().fault() == longwave::Fault::device ? LW_NO_MEMORY
                                                                                  : LW_UNSUPPORTED,
                              "lw_tokenizer_encode: " + encoded.status().message());
            const BpeTables &tables = tokenizer->bpe->tables();
            if (special & LW_TEXT_BEGIN) found = tables.begin;
            found.insert(found.end(), (*encoded).begin(), (*encoded).end());
            if (special & LW_TEXT_END) found.insert(found.end(), tables.end.begin(), tables.end.end());
        }
        *n = found.size();
        if (!ids) return LW_OK;
        if (capacity < found.size())
            return failed(LW_TOO_SMALL, "lw_tokenizer_encode: the text has " + std::to_string(found.size()) +
                                            " ids, and there is room for " + std::to_string(capacity));
        std::copy(found.begin(), found.end(), ids);
        return LW_OK;
    });
}

size_t lw_tokenizer_special(const lw_tokenizer *tokenizer, uint32_t side, const int32_t **ids) {
    static const std::vector<int32_t> nothing;
    const std::vector<int32_t> *found = &nothing;
    if (tokenizer && tokenizer->bpe && side == LW_TEXT_BEGIN) found = &tokenizer->bpe->tables().begin;
    if (tokenizer && tokenizer->bpe && side == LW_TEXT_END) found = &tokenizer->bpe->tables().end;
    if (ids) *ids = found->data();
    return found->size();
}

lw_status lw_tokenizer_token(const lw_tokenizer *tokenizer, int32_t id, const char **bytes, size_t *size) {
    if (!tokenizer || !bytes || !size)
        return longwave::tokenizer::bad_argument("lw_tokenizer_token: tokenizer, bytes or size is NULL");
    const std::vector<std::string> &tokens = tokenizer->tokens();
    if (id < 0 || static_cast<size_t>(id) >= tokens.size())
        return guarded([&] {
            return failed(LW_BAD_TOKEN, "id " + std::to_string(id) +
                                            " is out of range: the vocabulary has ids 0 to " +
                                            std::to_string(tokens.size() - 1));
        });
    *bytes = tokens[static_cast<size_t>(id)].data();
    *size = tokens[static_cast<size_t>(id)].size();
    return LW_OK;
}

// Text from ids: complete UTF-8 characters only.
struct lw_text_decoder {
    const lw_tokenizer *tokenizer = nullptr;
    std::string held;  // the start of a character, 0 to 3 bytes
    std::string ready; // what the last call gave
};

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
