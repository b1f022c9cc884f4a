// The C interface of liblongwave-text: ownership, errors, incomplete characters, threads. The ids
// themselves: tokenizer_test.py.
#include <atomic>
#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <longwave/text.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace text_test {

namespace {

constexpr const char *folder =
    "tests/unit/runtime/tokenizer/tokenizers/"; // tests run at the root of the tree

using Tokenizer = std::unique_ptr<lw_tokenizer, void (*)(lw_tokenizer *)>;
using Decoder = std::unique_ptr<lw_text_decoder, void (*)(lw_text_decoder *)>;

Tokenizer opened(const std::string &name, uint32_t vocabulary = 0) {
    lw_tokenizer_options options = {};
    options.struct_size = sizeof options;
    options.vocabulary = vocabulary;
    lw_tokenizer *tokenizer = nullptr;
    REQUIRE(lw_tokenizer_open((folder + name).c_str(), &options, &tokenizer) == LW_OK);
    return {tokenizer, lw_tokenizer_close};
}

Tokenizer byte_level() {
    lw_tokenizer *tokenizer = nullptr;
    REQUIRE(lw_tokenizer_open_bytes(&tokenizer) == LW_OK);
    return {tokenizer, lw_tokenizer_close};
}

std::vector<int32_t> encoded(const lw_tokenizer *tokenizer, const std::string &text) {
    size_t n = 0;
    REQUIRE(lw_tokenizer_encode(tokenizer, text.data(), text.size(), nullptr, 0, &n) == LW_OK);
    std::vector<int32_t> ids(n);
    REQUIRE(lw_tokenizer_encode(tokenizer, text.data(), text.size(), ids.data(), ids.size(), &n) == LW_OK);
    REQUIRE(n == ids.size());
    return ids;
}

Decoder decoder_of(const lw_tokenizer *tokenizer) {
    lw_text_decoder *decoder = nullptr;
    REQUIRE(lw_text_decoder_create(tokenizer, &decoder) == LW_OK);
    return {decoder, lw_text_decoder_destroy};
}

std::string pushed(lw_text_decoder *decoder, int32_t id) {
    const char *text = nullptr;
    size_t size = 0;
    REQUIRE(lw_text_decoder_push(decoder, id, &text, &size) == LW_OK);
    return {text, size};
}

std::string finished(lw_text_decoder *decoder) {
    const char *text = nullptr;
    size_t size = 0;
    REQUIRE(lw_text_decoder_finish(decoder, &text, &size) == LW_OK);
    return {text, size};
}

std::string contents(const std::string &name) {
    std::ifstream file(folder + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("the ids of a byte-level model are its bytes") {
    const Tokenizer tokenizer = byte_level();
    CHECK(lw_tokenizer_vocabulary(tokenizer.get()) == 256);
    CHECK(lw_tokenizer_divisible(tokenizer.get()) == 1);
    CHECK(encoded(tokenizer.get(), std::string("a\0\xff", 3)) == std::vector<int32_t>{97, 0, 255});
    CHECK(encoded(tokenizer.get(), "").empty());
}

TEST_CASE("an incomplete character is held back until it is complete, or the text ends") {
    const Tokenizer tokenizer = byte_level();
    const Decoder decoder = decoder_of(tokenizer.get());
    CHECK(pushed(decoder.get(), 'a') == "a");
    for (const int32_t byte : {0xE2, 0x82}) CHECK(pushed(decoder.get(), byte).empty());
    CHECK(pushed(decoder.get(), 0xAC) == "\xE2\x82\xAC"); // the euro sign
    CHECK(finished(decoder.get()).empty());
    CHECK(pushed(decoder.get(), 0xF0).empty());
    CHECK(pushed(decoder.get(), 'b') == "\xF0"
                                        "b"); // not UTF-8: given as it is
    CHECK(pushed(decoder.get(), 0xC3).empty());
    CHECK(finished(decoder.get()) == "\xC3");
    CHECK(finished(decoder.get()).empty()); // reset
    CHECK(pushed(decoder.get(), 0xA9) == "\xA9");
    CHECK(lw_utf8_incomplete("", 0) == 0);
    CHECK(lw_utf8_incomplete("\xF0\x9F\x98", 3) == 3);
    CHECK(lw_utf8_incomplete("\xF0\x9F\x98\x80", 4) == 0);
    CHECK(lw_utf8_incomplete("\xC0", 1) == 0); // begins no character
}

TEST_CASE("a file and its bytes in memory give the same tokenizer") {
    const Tokenizer from_file = opened("split.json");
    const std::string bytes = contents("split.json");
    REQUIRE(!bytes.empty());
    lw_tokenizer *handle = nullptr;
    REQUIRE(lw_tokenizer_open_memory(bytes.data(), bytes.size(), nullptr, &handle) == LW_OK);
    const Tokenizer from_memory(handle, lw_tokenizer_close);
    const std::string text = "The miller's 12 wheels\xff turn <|end|>";
    CHECK(encoded(from_file.get(), text) == encoded(from_memory.get(), text));
    CHECK(lw_tokenizer_divisible(handle) == 0);
    // Every id has its bytes, and the vocabulary ends with the last of them.
    const uint32_t vocabulary = lw_tokenizer_vocabulary(handle);
    const char *token = nullptr;
    size_t size = 0;
    REQUIRE(lw_tokenizer_token(handle, static_cast<int32_t>(vocabulary) - 1, &token, &size) == LW_OK);
    CHECK(size > 0);
    CHECK(lw_tokenizer_token(handle, static_cast<int32_t>(vocabulary), &token, &size) == LW_BAD_TOKEN);
    CHECK(lw_tokenizer_token(handle, -1, &token, &size) == LW_BAD_TOKEN);
    CHECK(lw_tokenizer_vocabulary(opened("split.json", 5000).get()) == 5000);
}

TEST_CASE("a text comes back through a decoder, whatever its bytes") {
    const Tokenizer tokenizer = opened("byte_level.json");
    const Decoder decoder = decoder_of(tokenizer.get());
    std::string text = "na\xC3\xAFve \xF0\x9F\x98\x80 bad \xE2\x82 end", again;
    for (const int32_t id : encoded(tokenizer.get(), text)) again += pushed(decoder.get(), id);
    again += finished(decoder.get());
    CHECK(again == text);
}

TEST_CASE("failures have a status and a reason, and change nothing") {
    lw_tokenizer *tokenizer = reinterpret_cast<lw_tokenizer *>(1);
    CHECK(lw_tokenizer_open("no such file.json", nullptr, &tokenizer) == LW_NOT_FOUND);
    CHECK(tokenizer == nullptr);
    CHECK(std::string(lw_last_error()).find("no such file.json: cannot be read") == 0);
    CHECK(lw_tokenizer_open(folder, nullptr, &tokenizer) == LW_IO); // a folder
    lw_tokenizer_options options = {};
    CHECK(lw_tokenizer_open("x", &options, &tokenizer) == LW_INVALID_ARGUMENT); // no struct_size
    CHECK(lw_tokenizer_open(nullptr, nullptr, &tokenizer) == LW_INVALID_ARGUMENT);
    CHECK(lw_tokenizer_open("x", nullptr, nullptr) == LW_INVALID_ARGUMENT);
    options.struct_size = sizeof options;
    options.name = "the file";
    CHECK(lw_tokenizer_open_memory("{", 1, &options, &tokenizer) == LW_UNSUPPORTED);
    CHECK(std::string(lw_last_error()).find("the file: expected JSON") == 0);
    const std::string bytes = contents("split.json");
    options.vocabulary = 300;
    CHECK(lw_tokenizer_open_memory(bytes.data(), bytes.size(), &options, &tokenizer) == LW_BAD_TOKEN);
    CHECK(std::strstr(lw_last_error(), "the model's vocabulary has 300 ids") != nullptr);

    const Tokenizer letters = byte_level();
    int32_t ids[2] = {7, 7};
    size_t n = 0;
    CHECK(lw_tokenizer_encode(letters.get(), "abc", 3, ids, 2, &n) == LW_TOO_SMALL);
    CHECK(n == 3);
    CHECK(ids[0] == 7);
    CHECK(lw_tokenizer_encode(nullptr, "abc", 3, nullptr, 0, &n) == LW_INVALID_ARGUMENT);
    const Decoder decoder = decoder_of(letters.get());
    const char *text = nullptr;
    CHECK(pushed(decoder.get(), 0xC3).empty());
    CHECK(lw_text_decoder_push(decoder.get(), 256, &text, &n) == LW_BAD_TOKEN);
    CHECK(pushed(decoder.get(), 0xA9) == "\xC3\xA9"); // nothing was lost
    lw_tokenizer_close(nullptr);
    lw_text_decoder_destroy(nullptr);
}

TEST_CASE("special tokens stand around a text when they are asked for") {
    std::string bytes = contents("split.json");
    const std::string none = R"("post_processor": null)";
    REQUIRE(bytes.find(none) != std::string::npos);
    bytes.replace(bytes.find(none), none.size(),
                  R"("post_processor": {"type": "RobertaProcessing", "cls": ["a", 3], "sep": ["b", 4]})");
    lw_tokenizer *handle = nullptr;
    REQUIRE(lw_tokenizer_open_memory(bytes.data(), bytes.size(), nullptr, &handle) == LW_OK);
    const Tokenizer tokenizer(handle, lw_tokenizer_close);
    const int32_t *ids = nullptr;
    REQUIRE(lw_tokenizer_special(handle, LW_TEXT_BEGIN, &ids) == 1);
    CHECK(ids[0] == 3);
    REQUIRE(lw_tokenizer_special(handle, LW_TEXT_END, &ids) == 1);
    CHECK(ids[0] == 4);
    CHECK(lw_tokenizer_special(handle, LW_TEXT_END, nullptr) == 1);
    CHECK(lw_tokenizer_special(handle, 0, &ids) == 0);
    CHECK(lw_tokenizer_special(nullptr, LW_TEXT_BEGIN, &ids) == 0);
    CHECK(lw_tokenizer_special(byte_level().get(), LW_TEXT_BEGIN, &ids) == 0);
    int32_t found[4] = {};
    size_t n = 0;
    CHECK(lw_tokenizer_encode_special(handle, "", 0, LW_TEXT_BEGIN | LW_TEXT_END, found, 4, &n) == LW_OK);
    CHECK(n == 2);
    CHECK(found[0] == 3);
    CHECK(found[1] == 4);
    CHECK(lw_tokenizer_encode_special(handle, "", 0, 4, found, 4, &n) == LW_INVALID_ARGUMENT);
}

TEST_CASE("an expression that takes too many steps gives no ids") {
    std::string bytes = contents("split.json");
    const size_t start = bytes.find(R"("Regex": ")") + 10, end = bytes.find(R"("})", start);
    bytes.replace(start, end - start, "(?:(?:a+)+)+b");
    lw_tokenizer *handle = nullptr;
    REQUIRE(lw_tokenizer_open_memory(bytes.data(), bytes.size(), nullptr, &handle) == LW_OK);
    const Tokenizer tokenizer(handle, lw_tokenizer_close);
    const std::string text = std::string(40, 'a') + "!b";
    size_t n = 0;
    CHECK(lw_tokenizer_encode(handle, text.data(), text.size(), nullptr, 0, &n) == LW_UNSUPPORTED);
    CHECK(std::strstr(lw_last_error(), "takes too many steps") != nullptr);
    // What needs much stack is matched in another way.
    bytes.replace(start, 13, "(?:a|bc|d)+x?");
    REQUIRE(lw_tokenizer_open_memory(bytes.data(), bytes.size(), nullptr, &handle) == LW_OK);
    const Tokenizer other(handle, lw_tokenizer_close);
    CHECK(encoded(handle, std::string(20000, 'a')).size() > 100);
}

TEST_CASE("threads share a tokenizer") {
    const Tokenizer tokenizer = opened("split.json");
    const std::string text = "It is the 3rd time that the miller's wheel turns, and turns.";
    const std::vector<int32_t> expected = encoded(tokenizer.get(), text);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; i++) {
                std::vector<int32_t> ids(text.size());
                size_t n = 0;
                const lw_status status = lw_tokenizer_encode(tokenizer.get(), text.data(), text.size(),
                                                             ids.data(), ids.size(), &n);
                ids.resize(n);
                wrong += status != LW_OK || ids != expected;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == 0);
}

} // namespace text_test
