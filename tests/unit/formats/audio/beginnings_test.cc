// Files and pipes that are no audio we read are called by their names, and never heard as samples.
#include "tests/unit/formats/audio/audio_files.h"

namespace audio_beginnings_test {

using namespace audio_files;
using namespace std::string_literals;

namespace {

std::string be(uint64_t value, int bytes) {
    std::string text = le(value, bytes);
    std::reverse(text.begin(), text.end());
    return text;
}

// An ID3v2 tag of `size` bytes behind its header.
std::string id3(uint32_t size, bool footer = false) {
    std::string text = "ID3\x04"s + '\0' + (footer ? '\x10' : '\0');
    for (int shift = 21; shift >= 0; shift -= 7) text += static_cast<char>(size >> shift & 127);
    return text + std::string(size, 'x') + (footer ? "3DI" + text.substr(3, 7) : "");
}

// Frames of 128 kbit/s at 44100 Hz, MPEG 1 layer III.
std::string mp3() {
    std::string text;
    for (int i = 0; i < 3; i++) text += "\xff\xfb\x90\x64"s + std::string(413, '\x55');
    return text;
}

std::string wav() {
    return "RIFF" + le(36 + 6, 4) + "WAVEfmt " + le(16, 4) + le(1, 2) + le(1, 2) + le(16000, 4) +
           le(32000, 4) + le(2, 2) + le(16, 2) + "data" + le(6, 4) + le(0x4000, 2) + le(0x8000, 2) + le(1, 2);
}

void refused_everywhere(const std::string &bytes, const std::string &part) {
    INFO(part);
    refused(write("stranger", bytes), at_16k(), part);
    const Pipe pipe(bytes);
    refused(pipe.path, at_16k(), part);
}

} // namespace

TEST_CASE("strangers: each is refused by its name, from a file and from a pipe") {
    const std::string rest(3000, '\x11');
    const std::pair<std::string, const char *> strangers[] = {
        {mp3(), "is MP3, which is not read; convert it"},
        {id3(300) + mp3(), "is MP3"},
        {"\xff\xf1\x50\x80\x02\x1f\xfc"s + std::string(9, 1) + "\xff\xf1\x50\x80\x02\x1f\xfc"s + rest,
         "is AAC"},
        {be(32, 4) + "ftypM4A " + rest, "is MP4"},
        {"\x1a\x45\xdf\xa3" + rest, "is WebM or Matroska"},
        {".SoX" + rest, "is sox's own format"},
        {"XoS." + rest, "is sox's own format"},
        {"RIFF" + le(100, 4) + "AVI LIST" + rest, "is AVI video"},
        {"#!AMR\n" + rest, "is AMR"},
        {"wvpk" + rest, "is WavPack"},
        {"MAC " + rest, "is Monkey's Audio"},
        {"\x30\x26\xb2\x75\x8e\x66\xcf\x11" + rest, "is WMA"},
        {"OggS\0\2"s + std::string(22, '\0') + "Speex   1.2" + rest, "is Ogg Speex"},
        {"OggS\0\2"s + std::string(22, '\0') +
             "\x7f"
             "FLAC" +
             rest,
         "is Ogg FLAC"},
        {"MThd" + rest, "is MIDI"},
        {"PK\x03\x04" + rest, "is a ZIP archive, not audio; unpack it first"},
        {"\x1f\x8b\x08" + rest, "is gzip"},
        {"\x93NUMPY\x01" + rest, "is a NumPy array"},
        {"\x89LWA\r\n\x1a\n" + rest,
         "is a Longwave model, not audio; pass the audio, and the model before it"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "is a Git LFS pointer"},
        {"\n<!DOCTYPE html>\n<html><body>Not found</body></html>", "is an HTML page, not audio"},
        {"{\"message\": \"Not found\"}", "is JSON, not audio"},
        {"<?xml version=\"1.0\"?>", "is XML"},
        {"this is not audio at all", "is text, not audio"},
        {"\xd0\xad\xd1\x82\xd0\xbe \xe4\xb8\x8d\xe6\x98\xaf\xe9\x9f\xb3\xe9\xa2\x91\n", "is text, not audio"},
        {"\x7f"
         "ELF" +
             rest,
         "is a program"},
        {rest, "does not begin like a known audio file; convert it to WAV or FLAC first"},
        {le(0x4000, 2) + le(0x8000, 2) + le(1, 2), "does not begin like a known audio file"},
        {id3(40) + rest, "after its ID3 tag it does not begin like a known audio file"},
        {id3(40), "ends after its ID3 tag"},
        {id3(40).substr(0, 30), "ends in the middle of its ID3 tag"},
    };
    for (const auto &[bytes, part] : strangers) refused_everywhere(bytes, part);
}

TEST_CASE("strangers: where the user may say the format of raw samples, the refusal says how") {
    audio::Options options = at_16k();
    options.offers_format = true;
    const Pipe pipe(le(0x4000, 2) + le(0x8000, 2) + le(1, 2));
    refused(pipe.path, options, "raw samples need --format, such as --format s16le");
}

TEST_CASE("strangers: a pattern of MPEG without a second frame is no MP3") {
    refused_everywhere("\xff\xfb\x90\x64" + std::string(2000, '\x11'),
                       "does not begin like a known audio file");
    refused_everywhere(std::string(2000, '\xff'), "does not begin like a known audio file");
    refused_everywhere("\xff\xfb\x90", "does not begin like a known audio file");
}

TEST_CASE("ID3 tags before audio are skipped, however many there are") {
    for (const std::string &tags :
         {id3(0), id3(300), id3(70000), id3(300, true), id3(10) + id3(200, true) + id3(0)}) {
        const Pipe pipe(tags + wav());
        for (const auto &read :
             {audio::read(write("tagged.wav", tags + wav()), at_16k()), audio::read(pipe.path, at_16k())}) {
            INFO(read.status().message());
            REQUIRE(read);
            CHECK(read->samples == std::vector<float>{0.5f, -1.0f, 1.0f / 32768});
        }
    }
}

TEST_CASE("a damaged file of a known kind is called by its name, and no reason is an unknown error") {
    const std::pair<std::string, const char *> damaged[] = {
        {"fLaC and then nonsense", "is FLAC and cannot be decoded: "},
        {"fLaC\0\0\0\x22"s + std::string(34, '\1') + std::string(3000, '\x11'),
         "is FLAC and cannot be decoded"},
        {"OggS" + std::string(3000, '\x11'), "is Ogg and cannot be decoded: "},
        {".snd" + be(24, 4) + be(100, 4) + be(99, 4) + be(16000, 4) + be(1, 4) + std::string(100, '\0'),
         "is AU of encoding 99"},
        {".snd" + be(24, 4) + be(100, 4) + be(3, 4) + be(0, 4) + be(1, 4) + std::string(100, '\0'),
         "1 channels at 0 Hz"},
        {"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0"s + std::string(100, '\0'),
         "is a W64 file without audio"},
    };
    for (const auto &[bytes, part] : damaged) {
        refused_everywhere(bytes, part);
        const auto read = audio::read(write("damaged", bytes), at_16k());
        CHECK(read.status().message().find("unknown error") == std::string::npos);
    }
}

TEST_CASE("why_unreadable: empty for audio, the reason for the rest") {
    CHECK(*audio::why_unreadable(write("a.wav", wav())) == "");
    CHECK(*audio::why_unreadable(write("a.txt", "notes")) == "is text, not audio; pass an audio file");
    CHECK(*audio::why_unreadable(write("empty", "")) == "is empty");
    CHECK_FALSE(audio::why_unreadable(folder() + "/none"));
}

} // namespace audio_beginnings_test
