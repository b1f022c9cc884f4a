#include "formats/package/safetensors.h"
#include "safetensors_bytes.h"
#include <cmath>
#include <cstdlib>
#include <doctest/doctest.h>
#include <limits>
#include <unistd.h>

namespace safetensors_test {

using namespace longwave;
using namespace longwave::tests;

namespace {

std::string failure(const Bytes &bytes) {
    auto tensors = package::parse_safetensors(bytes, "w");
    if (tensors) return "";
    CHECK(tensors.status().fault() == Fault::input);
    return tensors.status().message();
}

// The message must hold every one of the words.
void refused(const Bytes &bytes, std::initializer_list<const char *> words) {
    const std::string message = failure(bytes);
    CAPTURE(message);
    CHECK_FALSE(message.empty());
    for (const char *word : words) CHECK_MESSAGE(message.find(word) != std::string::npos, word);
}

const std::string two =
    R"({"__metadata__":{"by":"test"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";

} // namespace

TEST_CASE("safetensors: tensors come back by key, in any order of the header, with trailing spaces") {
    auto tensors = package::parse_safetensors(with_values<float>(two + "   ", {1.5f, -2, 3}), "w");
    REQUIRE(tensors);
    REQUIRE(tensors->size() == 2);
    CHECK(tensors->at("a").shape.empty());
    CHECK(tensors->at("a").data == std::vector<float>{1.5f});
    CHECK(tensors->at("b").shape == std::vector<uint64_t>{2});
    CHECK(tensors->at("b").data == std::vector<float>{-2, 3});
}

TEST_CASE("safetensors: tensors that stay in their file are those that are read, in any alignment") {
    // 3 bytes of BOOL before the others: no element lies at a multiple of its size.
    Bytes bytes = with_header(
        R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F32","shape":[3],"data_offsets":[3,15]},)"
        R"("c":{"dtype":"BF16","shape":[2],"data_offsets":[15,19]},"d":{"dtype":"F64","shape":[1],"data_offsets":[19,27]}})",
        27);
    const float floats[] = {1.5f, -0x1p-130f, 3e38f};
    const uint16_t halves[] = {0x3fc0, 0xc2f7}; // 1.5, -123.5
    const double wide = -0.1;
    uint8_t *const data = bytes.data() + bytes.size() - 27;
    data[1] = 1;
    std::memcpy(data + 3, floats, sizeof floats);
    std::memcpy(data + 15, halves, sizeof halves);
    std::memcpy(data + 19, &wide, sizeof wide);
    char name[] = "/tmp/longwave-safetensors-XXXXXX";
    const int file = mkstemp(name);
    REQUIRE(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    close(file);
    const auto read = package::read_safetensors(name, UINT64_MAX),
               mapped = package::read_safetensors(name, 0);
    unlink(name); // a mapping keeps its file
    REQUIRE(read);
    REQUIRE(mapped);
    CHECK(mapped->at("b").data.data() == nullptr);
    CHECK(mapped->at("c").data.data() == nullptr);
    for (const char *key : {"a", "b", "c", "d"}) {
        CAPTURE(key);
        CHECK(read->at(key).data == mapped->at(key).data);
        std::vector<double> all(mapped->at(key).data.size());
        for (int again = 0; again < 3; ++again) mapped->at(key).data.read(0, std::span(all));
        CHECK(std::equal(all.begin(), all.end(), read->at(key).data.begin()));
    }
    CHECK(mapped->at("b").data == std::vector<float>(std::begin(floats), std::end(floats)));
    CHECK(mapped->at("c").data == std::vector<float>{1.5f, -123.5f});
}

TEST_CASE("safetensors: a file without tensors and tensors without elements are fine") {
    auto none = package::parse_safetensors(with_header("{}"), "w");
    REQUIRE(none);
    CHECK(none->empty());
    auto empty = package::parse_safetensors(
        with_header(
            R"({"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"),
        "w");
    REQUIRE(empty);
    CHECK(empty->at("a").data.empty());
}

TEST_CASE("safetensors: a file cut anywhere is refused with a message") {
    const Bytes whole = with_values<float>(two, {1, 2, 3});
    REQUIRE(failure(whole).empty());
    for (size_t n = 0; n < whole.size(); ++n) {
        CAPTURE(n);
        CHECK_FALSE(failure(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n))).empty());
    }
}

TEST_CASE("safetensors: no byte of the header can be changed to something that crashes") {
    const Bytes whole = with_values<float>(two, {1, 2, 3});
    for (size_t i = 0; i < 8 + two.size(); ++i)
        for (int v : std::initializer_list<int>{0, 1, 9, '"', '{', '}', '[', ']', '0', '9', '-', ',', ':',
                                                0x7f, 0x80, 0xff}) {
            Bytes bytes = whole;
            bytes[i] = static_cast<uint8_t>(v);
            (void)failure(bytes); // a status or tensors; sanitizers watch the rest
        }
}

TEST_CASE("safetensors: a wrong header length is refused") {
    Bytes bytes = with_values<float>(two, {1, 2, 3});
    for (uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{bytes.size() - 7}, uint64_t{1} << 31,
                       uint64_t{1} << 32, ~uint64_t{0}, uint64_t{1} << 63}) {
        std::memcpy(bytes.data(), &n, 8);
        refused(bytes, {"w: expected a header of 2 to", "cut short or no safetensors file"});
    }
    refused({1, 2, 3}, {"8 bytes of header length", "found 3 bytes"});
    refused(with_header("[]"), {"starts with '{'"});
}

TEST_CASE("safetensors: a tensor's name steers no terminal") {
    refused(with_header("{\"a\u202eb\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
            {"tensor \"a\\u202eb\": expected a name without control characters"});
}

TEST_CASE("safetensors: a tensor must fill its bytes, without gap, overlap or rest") {
    auto one = [](const char *info) { return std::string(R"({"a":)") + info + "}"; };
    refused(with_header(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), 4),
            {"tensor \"a\"", "expected 8 bytes for shape [2] of F32", "found 4"});
    refused(with_header(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), 8),
            {"start at 0", "found 4, which leaves a gap"});
    refused(with_header(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), 8),
            {"end at the end of the file", "4 bytes after it"});
    refused(with_header(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})"), 8),
            {"inside the file", "an end at 12"});
    refused(with_header(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), 4),
            {"data_offsets in order", "[4,0]"});
    refused(
        with_header(
            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12),
        {"tensor \"b\"", "start at 8", "found 4, which overlaps"});
    refused(
        with_header(
            R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
            4),
        {"overlaps"});
}

TEST_CASE("safetensors: sizes that wrap around 64 bits are refused") {
    for (const char *shape : {"[4294967296,4294967296]", "[18446744073709551615]", "[4611686018427387904,4]",
                              "[9223372036854775808,2]"})
        refused(with_header(std::string(R"({"a":{"dtype":"F32","shape":)") + shape +
                            R"(,"data_offsets":[0,0]}})"),
                {"size fits 64 bits"});
    refused(
        with_header(
            R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]}})"),
        {"expected 4 bytes"});
}

TEST_CASE("safetensors: a wrong description of a tensor is refused") {
    auto with = [](const char *info) { return with_header(std::string(R"({"a":)") + info + "}", 4); };
    refused(with("7"), {"an object with dtype, shape and data_offsets", "found 7"});
    refused(with(R"({"dtype":"F32","shape":[1]})"), {"the key \"data_offsets\""});
    refused(with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":1})"),
            {"only dtype, shape and data_offsets", "extra"});
    refused(with(R"({"dtype":"I32","shape":[1],"data_offsets":[0,4]})"),
            {"F32 (or F64, F16, BF16, I64, BOOL)", "\"I32\"", "convert it to float32"});
    refused(with(R"({"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]})"), {"\"F8_E4M3\""});
    refused(with(R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})"), {"element type", "found 32"});
    refused(with(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"), {"whole numbers", "[-1]"});
    refused(with(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"), {"whole numbers"});
    refused(with(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})"), {"whole numbers"});
    refused(with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})"), {"data_offsets [begin, end]"});
    refused(with(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})"), {"data_offsets [begin, end]"});
    refused(with(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})"),
            {"at most 8 dimensions", "found 9"});
    refused(with_header(R"({"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4), {"expected a name"});
    refused(with_header(R"({"__metadata__":{"a":1}})"), {"__metadata__", "an object of texts"});
    refused(with_header(R"({"a":{"dtype":"F32","shape":[[[1]]],"data_offsets":[0,4]}})", 4),
            {"nested deeper"});
}

TEST_CASE("safetensors: a key that comes twice is refused") {
    const char *info = R"({"dtype":"F32","shape":[],"data_offsets":[0,4]})";
    refused(with_header(std::string(R"({"a":)") + info + R"(,"a":)" + info + "}", 4),
            {"the key \"a\" is given twice"});
    refused(with_header(R"({"a":{"dtype":"F32","dtype":"F64","shape":[],"data_offsets":[0,4]}})", 4),
            {"the key \"dtype\" is given twice"});
}

TEST_CASE("safetensors: every wrong tensor is named at once") {
    refused(
        with_header(
            R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":"x","data_offsets":[1,5]},"c":{"dtype":"C64","shape":[],"data_offsets":[5,13]}})",
            13),
        {"tensor \"a\"", "tensor \"b\"", "tensor \"c\""});
}

TEST_CASE("safetensors: other element types become float32") {
    auto of = [](const char *type, size_t n, size_t size) {
        return std::string(R"({"a":{"dtype":")") + type + R"(","shape":[)" + std::to_string(n) +
               R"(],"data_offsets":[0,)" + std::to_string(n * size) + "]}}";
    };
    auto values = [](const Bytes &bytes) {
        auto tensors = package::parse_safetensors(bytes, "w");
        REQUIRE(tensors);
        return tensors->at("a").data;
    };
    CHECK(values(with_values<double>(of("F64", 2, 8), {0.1, -3})) == std::vector<float>{0.1f, -3});
    // 1, largest, smallest normal, smallest subnormal, largest subnormal, −0, −2
    auto half = values(
        with_values<uint16_t>(of("F16", 7, 2), {0x3c00, 0x7bff, 0x0400, 0x0001, 0x03ff, 0x8000, 0xc000}));
    CHECK(half == std::vector<float>{1, 65504, 0x1p-14f, 0x1p-24f, 1023 * 0x1p-24f, -0.0f, -2});
    CHECK(std::signbit(half[5]));
    auto special = values(with_values<uint16_t>(of("F16", 3, 2), {0x7c00, 0xfc00, 0x7e00}));
    CHECK(special[0] == std::numeric_limits<float>::infinity());
    CHECK(special[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(special[2]));
    CHECK(values(with_values<uint16_t>(of("BF16", 2, 2), {0x3f80, 0xc040})) == std::vector<float>{1, -3});
    CHECK(values(with_values<int64_t>(of("I64", 2, 8), {-7, 16777216})) == std::vector<float>{-7, 16777216});
    CHECK(values(with_values<uint8_t>(of("BOOL", 2, 1), {0, 1})) == std::vector<float>{0, 1});
    refused(with_values<uint8_t>(of("BOOL", 2, 1), {1, 2}), {"tensor \"a\" index 1", "0 or 1", "found 2"});
}

TEST_CASE("safetensors: a file that cannot be read says why") {
    auto missing = package::read_safetensors("/nonexistent/weights.safetensors");
    REQUIRE_FALSE(missing);
    CHECK(missing.status().fault() == Fault::input);
    CHECK(missing.status().message() ==
          "/nonexistent/weights.safetensors: cannot be read: No such file or directory");
    auto folder = package::read_safetensors("/");
    REQUIRE_FALSE(folder);
    CHECK(folder.status().message().find("Is a directory") != std::string::npos);
    auto device = package::read_safetensors("/dev/null");
    REQUIRE_FALSE(device);
    CHECK(device.status().message().find("not a regular file") != std::string::npos);
}

} // namespace safetensors_test
