#include "formats/audio/audio.h"
#include "formats/audio/source.h"
#include <cstring>

namespace longwave::audio {
namespace {

Expected<SourcePtr> open_raw(Bytes bytes, Encoding encoding, const Options &options) {
    LW_TRY(check_channel(bytes.name(), options.raw_channels, options.channel));
    Pcm pcm{encoding, options.raw_channels, options.raw_rate ? options.raw_rate : options.sample_rate,
            UINT64_MAX};
    if (pcm.sample_rate == 0)
        return Status::input(bytes.name() + ": raw samples do not say their rate; pass it (--rate)");
    return open_pcm(std::move(bytes), pcm, options.channel);
}

Expected<SourcePtr> open_source(const std::string &path, const Options &options) {
    LW_ASSIGN(Bytes bytes, Bytes::open(path, options.stop));
    if (options.format == Format::s16le) return open_raw(std::move(bytes), Encoding::s16, options);
    if (options.format == Format::f32le) return open_raw(std::move(bytes), Encoding::f32, options);

    LW_ASSIGN(const auto first, bytes.peek(12));
    if (first.empty()) return Status::input(bytes.name() + ": is empty");
    const auto starts = [&](const char *tag, size_t at) {
        return first.size() >= at + 4 && std::memcmp(first.data() + at, tag, 4) == 0;
    };
    if (starts("RIFF", 0) && starts("WAVE", 8)) {
        LW_ASSIGN(const auto pcm, read_wav_header(bytes));
        if (pcm) {
            LW_TRY(check_channel(bytes.name(), pcm->channels, options.channel));
            return open_pcm(std::move(bytes), *pcm, options.channel);
        }
        if (bytes.pipe())
            return Status::input(bytes.name() +
                                 ": this WAV codec cannot be read from a pipe; PCM and float can");
        return open_sndfile(std::move(bytes), path, options.channel);
    }
    // MPEG audio by its tag or its first frame (layers 1 to 3): whether libsndfile knows it depends
    // on how it was built, and its decoder writes to stderr.
    if (!bytes.pipe() &&
        ((first.size() >= 3 && std::memcmp(first.data(), "ID3", 3) == 0) ||
         (first.size() > 1 && first[0] == 0xff && (first[1] & 0xe0) == 0xe0 && (first[1] & 6) != 0)))
        return Status::input(bytes.name() +
                             ": is MP3, which is not read; convert it to WAV, FLAC or Ogg first");
    if (!bytes.pipe() || starts("fLaC", 0) || starts("OggS", 0))
        return open_sndfile(std::move(bytes), path, options.channel);
    return open_raw(std::move(bytes), Encoding::s16, options);
}

} // namespace

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
        return Status::input((path == "-" ? std::string("standard input") : path) + ": holds no samples");
    return audio;
}

} // namespace longwave::audio
