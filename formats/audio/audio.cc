#include "formats/audio/audio.h"
#include "formats/audio/source.h"
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <strings.h>
#include <vector>

namespace longwave::audio {
namespace {

// What a file or pipe is, by its first bytes.

// How a kind of file is read.
enum class Reading {
    wav,       // own reader: RIFF, RIFX, RF64, BW64
    w64,       // own reader
    au,        // own reader
    streamed,  // libsndfile, from a file or a pipe
    from_file, // libsndfile, which must seek in it
    none,      // audio or video that is not read, or no audio at all
    unknown    // nothing that is known
};

struct Beginning {
    const char *name; // for messages: "is NAME"
    Reading reading;
    const char *advice = nullptr; // of Reading::none: what to do; null: convert it
};

constexpr size_t beginning_bytes = 64; // enough for recognise()

constexpr size_t two_frames = 8192 + 7; // the longest frame, and the header of the next one

// MPEG audio and AAC have no magic number, only a pattern of 11 bits. The frame that begins at the
// first byte and the header of the next one have to agree. Null: they do not.
bool may_be_mpeg(const std::vector<uint8_t> &first); // worth a look at two frames

using namespace std::string_view_literals;

struct Row {
    std::string_view bytes;
    Beginning what;
    size_t at = 0;
    std::string_view more = {}; // further bytes, at `more_at`
    size_t more_at = 8;
};

constexpr auto w64_riff = "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"sv;

constexpr const char *to_longwave = "pass the audio, and the model before it";
constexpr const char *to_run = "use `longwave run` with --input @FILE";
constexpr const char *no_audio = "pass an audio file";

constexpr auto rows = std::to_array<Row>({
    {"RIFF"sv, {"WAV", Reading::wav}, 0, "WAVE"sv},
    {"RIFX"sv, {"big-endian WAV", Reading::wav}, 0, "WAVE"sv},
    {"RF64"sv, {"RF64", Reading::wav}, 0, "WAVE"sv},
    {"BW64"sv, {"BW64", Reading::wav}, 0, "WAVE"sv},
    {w64_riff, {"W64", Reading::w64}},
    {".snd"sv, {"AU", Reading::au}},
    {"dns."sv, {"little-endian AU", Reading::au}},
    {"fLaC"sv, {"FLAC", Reading::streamed}},
    {"OggS"sv, {"Ogg Speex", Reading::none}, 0, "Speex   "sv, 28},
    {"OggS"sv,
     {"Ogg FLAC", Reading::none},
     0,
     "\x7f"
     "FLAC"sv,
     28},
    {"OggS"sv, {"Ogg Theora", Reading::none}, 0, "\x80theora"sv, 28},
    {"OggS"sv, {"Ogg", Reading::streamed}},
    {"FORM"sv, {"AIFF", Reading::from_file}, 0, "AIFF"sv},
    {"FORM"sv, {"AIFF-C", Reading::from_file}, 0, "AIFC"sv},
    {"FORM"sv, {"8SVX", Reading::from_file}, 0, "8SVX"sv},
    {"FORM"sv, {"16SV", Reading::from_file}, 0, "16SV"sv},
    {"caff"sv, {"CAF", Reading::from_file}, 0, "desc"sv},
    {"NIST_1A\n"sv, {"SPHERE (NIST)", Reading::from_file}},
    {"Creative Voice File"sv, {"VOC", Reading::from_file}},
    {"\x64\xa3"sv, {"IRCAM", Reading::from_file}, 0, "\x00"sv, 3},
    {"\x00"sv, {"IRCAM", Reading::from_file}, 0, "\xa3\x64"sv, 2},
    {" paf"sv, {"PAF", Reading::from_file}},
    {"fap "sv, {"PAF", Reading::from_file}},
    {"PVF1"sv, {"PVF", Reading::from_file}},
    {"2BIT"sv, {"AVR", Reading::from_file}},

    {".SoX"sv, {"sox's own format", Reading::none}},
    {"XoS."sv, {"sox's own format", Reading::none}},
    {"RIFF"sv, {"AVI video", Reading::none}, 0, "AVI "sv},
    {"RIFF"sv, {"a WebP picture", Reading::none, no_audio}, 0, "WEBP"sv},
    {"RIFF"sv, {"a RIFF file, but not WAV", Reading::none}},
    {"FORM"sv, {"an IFF file, but not AIFF", Reading::none}},
    {"FRM8"sv, {"DSDIFF", Reading::none}},
    {"DSD "sv, {"DSF", Reading::none}},
    {"MThd"sv, {"MIDI", Reading::none, no_audio}},
    {"ftyp"sv, {"MP4 (AAC or ALAC)", Reading::none}, 4},
    {"moov"sv, {"QuickTime", Reading::none}, 4},
    {"\x1a\x45\xdf\xa3"sv, {"WebM or Matroska", Reading::none}},
    {"\x30\x26\xb2\x75\x8e\x66\xcf\x11"sv, {"WMA (ASF)", Reading::none}},
    {"#!AMR"sv, {"AMR", Reading::none}},
    {"ADIF"sv, {"AAC", Reading::none}},
    {"MAC "sv, {"Monkey's Audio", Reading::none}},
    {"wvpk"sv, {"WavPack", Reading::none}},
    {"TTA1"sv, {"TTA", Reading::none}},
    {"MPCK"sv, {"Musepack", Reading::none}},
    {"MP+"sv, {"Musepack", Reading::none}},
    {"FLV\x01"sv, {"Flash video", Reading::none}},

    {"\x89LWA\r\n\x1a\n"sv, {"a Longwave model", Reading::none, to_longwave}},
    {"\x93NUMPY"sv, {"a NumPy array", Reading::none, to_run}},
    {"PK\x03\x04"sv, {"a ZIP archive", Reading::none, "unpack it first"}},
    {"\x1f\x8b"sv, {"gzip", Reading::none, "unpack it first"}, 0, "\x08"sv, 2},
    {"BZh"sv, {"bzip2", Reading::none, "unpack it first"}},
    {"\xfd"
     "7zXZ"sv,
     {"xz", Reading::none, "unpack it first"}},
    {"\x28\xb5\x2f\xfd"sv, {"zstd", Reading::none, "unpack it first"}},
    {"\x7f"
     "ELF"sv,
     {"a program (ELF)", Reading::none, no_audio}},
    {"\x89PNG"sv, {"a PNG picture", Reading::none, no_audio}},
    {"\xff\xd8\xff"sv, {"a JPEG picture", Reading::none, no_audio}},
    {"GIF8"sv, {"a GIF picture", Reading::none, no_audio}},
    {"%PDF"sv, {"a PDF document", Reading::none, no_audio}},
    {"version https://git-lfs"sv, {"a Git LFS pointer", Reading::none, "run `git lfs pull`"}},
    {"\xff\xfe"sv, {"text (UTF-16)", Reading::none, no_audio}, 0, "\0"sv, 3},
});

bool is_text(const std::vector<uint8_t> &first) {
    size_t following = 0; // bytes of a UTF-8 character that are still to come
    for (const uint8_t byte : first) {
        if (following > 0) {
            if ((byte & 0xc0) != 0x80) return false;
            following--;
        } else if (byte >= 0xc2 && byte <= 0xf4) {
            following = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        } else if (byte > 0x7e ||
                   (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' && byte != '\f')) {
            return false;
        }
    }
    return true;
}

const char *kind_of_text(const std::vector<uint8_t> &first) {
    std::string_view text(reinterpret_cast<const char *>(first.data()), first.size());
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3); // a byte order mark
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n\f")));
    const auto begins = [&](std::string_view with) {
        return text.size() >= with.size() && strncasecmp(text.data(), with.data(), with.size()) == 0;
    };
    if (begins("<!doctype html") || begins("<html") || begins("<head")) return "an HTML page";
    if (begins("<")) return "XML";
    if (begins("{") || begins("[{") || begins("[\"")) return "JSON";
    return "text";
}

// The frame that begins here, 0: none does. `what` is equal for all frames of one stream.
size_t mpeg_frame(const uint8_t *p, uint32_t &what) {
    static constexpr uint16_t kbits[2][3][15] = {
        // MPEG 1, layers I to III; MPEG 2 and 2.5
        {{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
         {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
         {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}},
        {{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}};
    static constexpr uint32_t rates[3] = {44100, 48000, 32000};
    if (p[0] != 0xff || (p[1] & 0xe0) != 0xe0) return 0;
    const unsigned version = p[1] >> 3 & 3, layer = 4 - (p[1] >> 1 & 3); // version 0: 2.5, 2: 2, 3: 1
    const unsigned index = p[2] >> 4, rate_index = p[2] >> 2 & 3;
    if (layer == 4) { // AAC in ADTS: layer 0, and 12 bits of pattern
        if ((p[1] & 0xf6) != 0xf0 || (p[2] >> 2 & 15) > 12) return 0;
        what = 0x10000u | p[1] << 8 | (p[2] & 0xfc);
        const size_t length = (size_t{p[3]} & 3) << 11 | size_t{p[4]} << 3 | p[5] >> 5;
        return length >= 7 ? length : 0;
    }
    if (version == 1 || index == 0 || index == 15 || rate_index == 3) return 0;
    what = version << 16 | layer << 8 | rate_index;
    const uint32_t rate = rates[rate_index] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
    const uint32_t bits = 1000u * kbits[version != 3][layer - 1][index], padding = p[2] >> 1 & 1;
    if (layer == 1) return (12 * bits / rate + padding) * 4;
    return (layer == 3 && version != 3 ? 72 : 144) * bits / rate + padding;
}

Beginning recognise(const std::vector<uint8_t> &first) {
    const auto same = [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; };
    const auto has = [&](std::string_view bytes, size_t at) {
        return first.size() >= at + bytes.size() &&
               std::equal(bytes.begin(), bytes.end(), first.begin() + static_cast<std::ptrdiff_t>(at), same);
    };
    for (const Row &row : rows)
        if (has(row.bytes, row.at) && has(row.more, row.more_at)) return row.what;
    if (!first.empty() && is_text(first)) return {kind_of_text(first), Reading::none, no_audio};
    return {nullptr, Reading::unknown};
}

bool may_be_mpeg(const std::vector<uint8_t> &first) {
    uint32_t what = 0;
    return first.size() >= 7 && mpeg_frame(first.data(), what) > 0;
}

const char *mpeg_name(const std::vector<uint8_t> &frames) {
    uint32_t what = 0, next = 0;
    if (!may_be_mpeg(frames)) return nullptr;
    const size_t at = mpeg_frame(frames.data(), what);
    if (frames.size() < at + 7 || mpeg_frame(frames.data() + at, next) == 0 || what != next) return nullptr;
    return what & 0x10000 && (frames[1] & 6) == 0 ? "AAC" : (what >> 8 & 0xff) == 3 ? "MP3" : "MPEG audio";
}

// Skips ID3v2 tags: players write them before MP3, and some also before FLAC and WAV. True: there was one.
Expected<bool> skip_id3(Bytes &bytes) {
    bool skipped = false;
    for (;;) {
        LW_ASSIGN(const auto head, bytes.peek(10));
        if (head.size() < 10 || std::memcmp(head.data(), "ID3", 3) != 0 || head[3] == 0xff || head[4] == 0xff)
            return skipped;
        uint64_t size = 0; // 7 bits per byte
        for (size_t i = 6; i < 10; i++) {
            if (head[i] & 0x80) return skipped; // no tag
            size = size << 7 | head[i];
        }
        const bool footer = head[3] >= 4 && head[5] & 0x10;
        LW_TRY(bytes.skip(10 + size + (footer ? 10 : 0), "its ID3 tag"));
        skipped = true;
    }
}

Expected<SourcePtr> open_raw(Bytes bytes, Encoding encoding, const Options &options) {
    LW_TRY(check_channel(bytes.name(), options.raw_channels, options.channel));
    Pcm pcm{encoding, options.raw_channels, options.raw_rate ? options.raw_rate : options.sample_rate,
            UINT64_MAX};
    if (pcm.sample_rate == 0)
        return Status::input(bytes.name() + ": raw samples do not say their rate; pass it (--rate)");
    return open_pcm(std::move(bytes), pcm, options);
}

std::optional<Encoding> encoding_of(Format format) {
    switch (format) {
    case Format::detect: return std::nullopt;
    case Format::s16le: return Encoding::s16;
    case Format::s24le: return Encoding::s24;
    case Format::s24_32le: return Encoding::s24_low;
    case Format::s32le: return Encoding::s32;
    case Format::f32le: return Encoding::f32;
    case Format::mulaw: return Encoding::mulaw;
    case Format::alaw: return Encoding::alaw;
    }
    return std::nullopt;
}

// A file whose header we read ourselves. libsndfile knows more codecs, and has to seek.
Expected<SourcePtr> open_header(Bytes bytes, const Beginning &what, const Options &options) {
    uint64_t begin = 0;
    if (!bytes.pipe()) {
        LW_ASSIGN(begin, bytes.place());
    }
    LW_ASSIGN(const Header header, what.reading == Reading::wav   ? read_wav_header(bytes)
                                   : what.reading == Reading::w64 ? read_w64_header(bytes)
                                                                  : read_au_header(bytes));
    const std::string kind = what.name + (header.codec.empty() ? "" : " of " + header.codec);
    if (!header.pcm) {
        if (bytes.pipe())
            return Status::input(
                bytes.name() + ": is " + kind +
                ", which is read from a file but not from a pipe; pass the file, or convert it to PCM");
        LW_TRY(bytes.move_to(begin));
        return open_sndfile(std::move(bytes), kind, options);
    }
    LW_TRY(check_channel(bytes.name(), header.pcm->channels, options.channel));
    return open_pcm(std::move(bytes), *header.pcm, options);
}

struct Found {
    Beginning what;
    std::string refusal; // not empty: why it is not read
};

Expected<Found> look(Bytes &bytes) {
    LW_ASSIGN(const bool tagged, skip_id3(bytes));
    // A header that is shorter than the rest of the look: its first samples must not come alone.
    LW_ASSIGN(auto first, bytes.peek(12));
    Beginning what = recognise(first);
    if (what.reading != Reading::wav && what.reading != Reading::au) {
        LW_ASSIGN(first, bytes.peek(beginning_bytes));
        what = recognise(first);
    }
    if (first.empty()) return Found{{nullptr, Reading::none}, tagged ? "ends after its ID3 tag" : "is empty"};
    if (what.reading == Reading::unknown && may_be_mpeg(first)) {
        LW_ASSIGN(const auto frames, bytes.peek(two_frames));
        if (const char *name = mpeg_name(frames)) what = {name, Reading::none};
    }
    if (what.reading == Reading::unknown)
        return Found{what, std::string(tagged ? "after its ID3 tag it " : "") +
                               "does not begin like a known audio file"};
    const std::string is = std::string("is ") + what.name;
    if (what.reading == Reading::none)
        return Found{what, is + (what.advice ? std::string(", not audio; ") + what.advice
                                             : ", which is not read; convert it to WAV or FLAC first")};
    if (what.reading == Reading::from_file && bytes.pipe())
        return Found{
            what, is + ", which is read from a file but not from a pipe; pass the file, or convert it to WAV "
                       "or FLAC"};
    return Found{what, ""};
}

Expected<SourcePtr> open_detected(Bytes bytes, const Options &options) {
    LW_ASSIGN(const Found found, look(bytes));
    const bool unknown = !found.refusal.empty() && found.what.reading == Reading::unknown;
    if (!found.refusal.empty())
        return Status::input(bytes.name() + ": " + found.refusal +
                             (!unknown                ? ""
                              : options.offers_format ? "; raw samples need --format, such as --format s16le"
                                                      : "; convert it to WAV or FLAC first"));
    switch (found.what.reading) {
    case Reading::wav:
    case Reading::w64:
    case Reading::au: return open_header(std::move(bytes), found.what, options);
    default: return open_sndfile(std::move(bytes), found.what.name, options);
    }
}

Expected<SourcePtr> open_source(const std::string &path, const Options &options) {
    LW_ASSIGN(Bytes bytes, Bytes::open(path, options.stop));
    if (const auto encoding = encoding_of(options.format))
        return open_raw(std::move(bytes), *encoding, options);
    return open_detected(std::move(bytes), options);
}

} // namespace

std::string cut_warning(const std::string &name, uint64_t promised, uint64_t there) {
    return name + ": is cut: its header says " + std::to_string(promised) + " samples per channel, and " +
           std::to_string(there) + " are there";
}

Status check_channel(const std::string &name, uint32_t channels, uint32_t channel) {
    if (channel > channels || channels == 0)
        return Status::input(name + ": has " + std::to_string(channels) +
                             (channels == 1 ? " channel" : " channels") + "; there is no channel " +
                             std::to_string(channel));
    if (channels > 1 && channel == 0)
        return Status::input(name + ": has " + std::to_string(channels) +
                             " channels and the model takes one; choose it (--channel 1 is the first)");
    return {};
}

Reader::Reader(std::unique_ptr<Source> source) : source_(std::move(source)) {}
Reader::Reader(Reader &&) noexcept = default;
Reader &Reader::operator=(Reader &&) noexcept = default;
Reader::~Reader() = default;

Expected<Reader> Reader::open(const std::string &path, const Options &options) {
    LW_ASSIGN(SourcePtr source, open_source(path, options));
    return from(std::move(source), path == "-" ? "standard input" : path, options);
}

Expected<Reader> Reader::from(SourcePtr source, const std::string &name, const Options &options) {
    if (options.sample_rate && source->sample_rate != options.sample_rate) {
        if (!options.resample)
            return Status::input(name + ": is sampled at " + std::to_string(source->sample_rate) +
                                 " Hz and the model wants " + std::to_string(options.sample_rate) +
                                 " Hz; convert it first, or pass --resample");
        LW_ASSIGN(source, resampled(std::move(source), options.sample_rate));
    }
    return Reader(std::move(source));
}

Expected<size_t> Reader::read(float *samples, size_t n) { return source_->read(samples, n); }
uint32_t Reader::sample_rate() const { return source_->sample_rate; }

Expected<std::string> why_unreadable(const std::string &path) {
    LW_ASSIGN(Bytes bytes, Bytes::open(path, nullptr));
    LW_ASSIGN(Found found, look(bytes));
    return std::move(found.refusal);
}

Expected<Audio> read(const std::string &path, const Options &options) {
    LW_ASSIGN(Reader reader, Reader::open(path, options));
    Audio audio;
    audio.sample_rate = reader.sample_rate();
    constexpr size_t step = 16384;
    for (;;) {
        const size_t done = audio.samples.size();
        audio.samples.resize(done + step);
        LW_ASSIGN(const size_t got, reader.read(audio.samples.data() + done, step));
        audio.samples.resize(done + got);
        if (got == 0) break;
    }
    if (audio.samples.empty())
        return Status::input((path == "-" ? std::string("standard input") : path) + ": contains no samples");
    return audio;
}

} // namespace longwave::audio
