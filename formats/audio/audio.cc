#include "formats/audio/audio.h"
#include "formats/audio/beginning.h"
#include "formats/audio/source.h"
#include <optional>

namespace longwave::audio {
namespace {

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
        return Status::input(name + ": has " + std::to_string(channels) + " channels; there is no channel " +
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
