// The k-th allocation fails in the life of a tokenizer and of a decoder, for every k: a status, and
// never other ids or another text.
#include "longwave/text.h"
#include "tests/faults/each_malloc.h"
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace tokenizer_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// Byte-level BPE: a token for each byte, and four merges. JSON as Hugging Face writes it. Its
// expression keeps the merge of a space and a "t" from " told": a text that is not cut has other
// ids.
std::string tokenizer_json() {
    std::string vocabulary;
    const auto add = [&](const std::string &token, int id) {
        vocabulary += (id ? ", \"" : "\"") + token + "\": " + std::to_string(id);
    };
    for (int byte = 0, next = 0x100; byte < 256; ++byte) {
        const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
        const int c = itself ? byte : next++;
        std::string utf8;
        if (c == '"' || c == '\\') utf8 = {'\\', static_cast<char>(c)};
        else if (c < 0x80) utf8 = {static_cast<char>(c)};
        else utf8 = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
        add(utf8, byte);
    }
    const char *const merged[] = {"th", "the", "\u0120t", "he"};
    for (int i = 0; i < 4; ++i) add(merged[i], 256 + i);
    return R"({"model": {"type": "BPE", "vocab": {)" + vocabulary +
           R"(}, "merges": ["t h", ["th", "e"], "\u0120 t", "h e"]},
              "added_tokens": [{"content": "<the end of what they said>", "id": 260}],
              "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                  {"type": "Split", "pattern": {"Regex": "\\s+|\\p{L}+"}, "behavior": "Isolated"},
                  {"type": "ByteLevel", "add_prefix_space": false}]}})";
}

struct Ids {
    int32_t id[64] = {};
    size_t n = 0;
    bool operator==(const Ids &) const = default;
};

lw_status tokenize(const std::string &json, Ids *ids) {
    *ids = {};
    lw_tokenizer *tokenizer = nullptr;
    lw_status status = lw_tokenizer_open_memory(json.data(), json.size(), nullptr, &tokenizer);
    constexpr std::string_view text = "in the end, we told them<the end of what they said>";
    if (status == LW_OK)
        status = lw_tokenizer_encode(tokenizer, text.data(), text.size(), ids->id, 64, &ids->n);
    lw_tokenizer_close(tokenizer);
    return status;
}

} // namespace

TEST_CASE("faults: every allocation of a tokenizer: no memory is LW_NO_MEMORY, and never other ids") {
    const std::string json = tokenizer_json();
    Ids good, ids;
    REQUIRE(tokenize(json, &good) == LW_OK);
    CHECK(good.id[good.n - 1] == 260);
    CHECK(std::count(good.id, good.id + good.n, 257) == 2); // "the", of merges
    constexpr long of_just_in_time_code = 20;
    fail_each_malloc(
        [&] {
            const lw_status status = tokenize(json, &ids);
            return status == LW_OK && !(ids == good) ? LW_CHECK_FAILED : status;
        },
        1000, of_just_in_time_code);
    CHECK(std::string(lw_last_error()) == "not enough memory");
}

TEST_CASE("faults: a decoder that finds no memory gives the same text when it is asked again") {
    const std::string json = tokenizer_json();
    lw_tokenizer *tokenizer = nullptr;
    REQUIRE(lw_tokenizer_open_memory(json.data(), json.size(), nullptr, &tokenizer) == LW_OK);
    const int32_t ids[] = {0xC3, 260, 0xAF, 257, 260}; // the added token is too long for a short string
    const std::string text = "\xC3<the end of what they said>\xAFthe<the end of what they said>";
    long failures = 0;
    for (long k = 0; k < 8; ++k) {
        lw_text_decoder *decoder = nullptr;
        REQUIRE(lw_text_decoder_create(tokenizer, &decoder) == LW_OK);
        char got[128] = {};
        size_t n = 0;
        lw_status failure = LW_OK;
        {
            faults::Scope scope;
            scope.fail(faults::allocate, k, ENOMEM);
            for (size_t i = 0; i < std::size(ids);) {
                const char *piece = nullptr;
                size_t size = 0;
                const lw_status status = lw_text_decoder_push(decoder, ids[i], &piece, &size);
                if (status != LW_OK) failure = status;
                else std::copy_n(piece, size, got + n), n += size, ++i;
            }
        }
        CHECK((failure == LW_OK || failure == LW_NO_MEMORY));
        failures += failure != LW_OK;
        CHECK(std::string(got, n) == text);
        lw_text_decoder_destroy(decoder);
    }
    CHECK(failures >= 2);
    lw_tokenizer_close(tokenizer);
}

TEST_CASE("faults: a wrong argument is reported without memory") {
    lw_status status;
    {
        faults::Scope scope;
        scope.fail(faults::allocate, 0, ENOMEM, true);
        status = lw_tokenizer_open(nullptr, nullptr, nullptr);
        if (status == LW_INVALID_ARGUMENT) status = lw_text_decoder_create(nullptr, nullptr);
    }
    CHECK(status == LW_INVALID_ARGUMENT);
}

} // namespace tokenizer_test
