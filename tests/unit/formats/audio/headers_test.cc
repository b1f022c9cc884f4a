// WAV headers as programs write them, to files and to pipes: what the size fields and the format
// chunk say there, and what they leave out.
#include "tests/unit/formats/audio/audio_files.h"

namespace audio_headers_test {

using namespace audio_files;
using namespace std::string_literals;

namespace {

const std::vector<float> three = {0.5f, -1.0f, 0.25f};
const std::string s16 = le(0x4000, 2) + le(0x8000, 2) + le(0x2000, 2);

struct FormatFields {
    uint16_t tag = 1, channels = 1, bits = 16, frame = 2;
    std::string more = ""; // behind the first 16 bytes
};

std::string format_of(const FormatFields &f) {
    return "fmt " + le(16 + f.more.size(), 4) + le(f.tag, 2) + le(f.channels, 2) + le(16000, 4) +
           le(uint64_t{16000} * f.frame, 4) + le(f.frame, 2) + le(f.bits, 2) + f.more;
}

// WAVE_FORMAT_EXTENSIBLE of PCM.
std::string extension(uint16_t valid_bits) {
    return le(22, 2) + le(valid_bits, 2) + le(4, 4) + le(1, 2) + "\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"s;
}

std::string file_of(const std::string &format, const std::string &data, const std::string &name = "RIFF",
                    const std::string &before = "") {
    return name + le(name == "RIFF" ? 4 + before.size() + format.size() + data.size() : 0xffffffffu, 4) +
           "WAVE" + before + format + data;
}

std::string data_of(const std::string &samples, uint32_t size) { return "data" + le(size, 4) + samples; }

void reads(const std::string &bytes, const std::vector<float> &right) {
    const Pipe pipe(bytes, 7);
    for (const auto &read :
         {audio::read(write("header.wav", bytes), at_16k()), audio::read(pipe.path, at_16k())}) {
        INFO(read.status().message());
        REQUIRE(read);
        CHECK(read->samples == right);
    }
}

void refuses(const std::string &bytes, const std::string &part) {
    refused(write("header.wav", bytes), at_16k(), part);
    const Pipe pipe(bytes);
    refused(pipe.path, at_16k(), part);
}

} // namespace

TEST_CASE("arecord -f S24_LE: 24 bits in the low bytes of 32, with both headers") {
    const std::string samples = le(0x00400000, 4) + le(0xff800000, 4) + le(0x00200000, 4);
    const std::string dirty =
        le(0x77400000, 4) + le(0x00800000, 4) + le(0xff200000, 4); // nobody fills the high bytes
    for (const std::string &data : {samples, dirty}) {
        reads(file_of(format_of({1, 1, 24, 4}), data_of(data, 12)), three);
        reads(file_of(format_of({0xfffe, 1, 24, 4, extension(24)}), data_of(data, 12)), three);
        reads(file_of(format_of({1, 1, 24, 0}),
                      data_of(le(0x400000, 3) + le(0x800000, 3) + le(0x200000, 3), 9)),
              three);
    }
    // By Microsoft's rule, 24 valid bits of a container of 32 are the high ones.
    const std::string high = le(0x40000000, 4) + le(0x80000000, 4) + le(0x20000000, 4);
    reads(file_of(format_of({0xfffe, 1, 32, 4, extension(24)}), data_of(high, 12)), three);
}

TEST_CASE("block align 0 is derived from bits and channels") {
    reads(file_of(format_of({1, 1, 16, 0}), data_of(s16, 6)), three);
    reads(file_of(format_of({1, 1, 8, 0}), data_of("\xc0\0\xa0"s, 3)), three);
}

TEST_CASE("block align that fits no sample is refused with what it says") {
    refuses(file_of(format_of({1, 1, 16, 3}), data_of(s16, 6)), "16 bits, 1 channels, and 3 bytes per frame");
    refuses(file_of(format_of({1, 1, 0, 2}), data_of(s16, 6)), "contradicts itself: 0 bits");
    refuses(file_of(format_of({3, 1, 16, 2}), data_of(s16, 6)), "contradicts itself: 16 bits");
    refuses(file_of(format_of({1, 0, 16, 2}), data_of(s16, 6)), "0 channels");
}

TEST_CASE("a size of 0 or of all ones is unknown: the samples end with the input") {
    for (const uint32_t size : {0u, 0xffffffffu, 0x7ffff000u})
        reads(file_of(format_of({}), data_of(s16, size)), three);
}

TEST_CASE("a size of 0 before another chunk: metadata are not samples") {
    for (const std::string tag : {"LIST", "id3 ", "bext", "JUNK", "fact"})
        for (const uint32_t size : {0u, 0xffffffffu})
            refuses(file_of(format_of({}), data_of("", size) + tag + le(4, 4) + "abcd"),
                    "contains no samples");
}

TEST_CASE("a known size ends the samples, and chunks behind them are not heard") {
    reads(file_of(format_of({}), data_of(s16, 6) + "LIST" + le(4, 4) + "abcd"), three);
    reads(file_of(format_of({}), data_of(s16, 6) + "ID3\3" + std::string(200, 'x')), three);
}

TEST_CASE("RF64 and BW64: the size is in ds64, and unknown there too when it is 0 or all ones") {
    for (const std::string name : {"RF64", "BW64"})
        for (const uint64_t size : {uint64_t{6}, uint64_t{0}, UINT64_MAX}) {
            const std::string ds64 = "ds64" + le(28, 4) + le(0, 8) + le(size, 8) + le(3, 8) + le(0, 4);
            const std::string behind = size == 6 ? "LIST" + le(4, 4) + "abcd" : "";
            reads(file_of(format_of({}), data_of(s16, 0xffffffffu) + behind, name, ds64), three);
            reads(file_of(format_of({}), data_of(s16, 6) + "LIST" + le(4, 4) + "abcd", name, ds64), three);
        }
}

TEST_CASE("W64: an unknown size ends with the input, and a size without samples is no sample") {
    const std::string tail = "\xf3\xac\xd3\x11\x8c\xd1\0\xc0\x4f\x8e\xdb\x8a"s;
    const std::string head = "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0"s + le(UINT64_MAX, 8) +
                             "wave" + tail + "fmt " + tail + le(40, 8) + format_of({}).substr(8) + "data" +
                             tail;
    for (const uint64_t size : {uint64_t{30}, uint64_t{0}, UINT64_MAX, uint64_t{INT64_MAX}})
        reads(head + le(size, 8) + s16, three);
    refuses(head + le(24, 8), "contains no samples");
    reads(head + le(30, 8) + s16 + "\0\0summ and more"s, three);
}

TEST_CASE("AU: an unknown size and a long header") {
    const auto be = [](uint64_t value, int bytes) {
        std::string text = le(value, bytes);
        std::reverse(text.begin(), text.end());
        return text;
    };
    const std::string samples = be(0x4000, 2) + be(0x8000, 2) + be(0x2000, 2);
    for (const uint32_t size : {6u, 0xffffffffu})
        reads(".snd" + be(32, 4) + be(size, 4) + be(3, 4) + be(16000, 4) + be(1, 4) + "comment\0"s + samples,
              three);
}

TEST_CASE("a WAV codec that is not read is called by its name") {
    refuses(file_of(format_of({0x55, 1, 0, 1}), data_of(s16, 6)), "is WAV of MP3");
    refuses(file_of(format_of({0x1234, 1, 0, 1}), data_of(s16, 6)), "is WAV of codec 4660");
}

} // namespace audio_headers_test
