// Compressed files through libsndfile.
#include "formats/audio/source.h"
#include <algorithm>
#include <cstring>
#include <sndfile.h>

namespace longwave::audio {
namespace {

// A pipe's bytes as the file libsndfile wants to seek in.
struct Memory {
    std::vector<uint8_t> bytes;
    sf_count_t at = 0;
};

sf_count_t memory_length(void *m) { return static_cast<sf_count_t>(static_cast<Memory *>(m)->bytes.size()); }
sf_count_t memory_tell(void *m) { return static_cast<Memory *>(m)->at; }
sf_count_t memory_write(const void *, sf_count_t, void *) { return 0; }
sf_count_t memory_seek(sf_count_t offset, int whence, void *m) {
    auto *memory = static_cast<Memory *>(m);
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? memory->at : memory_length(m);
    memory->at = std::clamp<sf_count_t>(from + offset, 0, memory_length(m));
    return memory->at;
}
sf_count_t memory_read(void *out, sf_count_t n, void *m) {
    auto *memory = static_cast<Memory *>(m);
    const sf_count_t taken = std::clamp<sf_count_t>(memory_length(m) - memory->at, 0, n);
    std::memcpy(out, memory->bytes.data() + memory->at, static_cast<size_t>(taken));
    memory->at += taken;
    return taken;
}

class SndfileSource final : public Source {
public:
    ~SndfileSource() override {
        if (file) sf_close(file);
    }

    Expected<size_t> read(float *samples, size_t n) override {
        const sf_count_t frames = static_cast<sf_count_t>(std::min<size_t>(n, 4096));
        frames_.resize(static_cast<size_t>(frames) * channels);
        const sf_count_t got = sf_readf_float(file, frames_.data(), frames);
        if (got <= 0 && sf_error(file))
            return Status::input(name + ": cannot be decoded: " + sf_strerror(file));
        for (sf_count_t i = 0; i < got; i++) samples[i] = frames_[static_cast<size_t>(i) * channels + offset];
        return static_cast<size_t>(std::max<sf_count_t>(got, 0));
    }

    Memory memory;
    SNDFILE *file = nullptr;
    std::string name;
    uint32_t channels = 1, offset = 0;

private:
    std::vector<float> frames_;
};

} // namespace

Expected<SourcePtr> open_sndfile(Bytes bytes, const std::string &path, uint32_t channel) {
    auto source = std::make_unique<SndfileSource>();
    source->name = bytes.name();
    SF_INFO info = {};
    if (bytes.pipe()) {
        uint8_t part[65536];
        for (;;) {
            LW_ASSIGN(const size_t got, bytes.some(part, sizeof part));
            if (got == 0) break;
            source->memory.bytes.insert(source->memory.bytes.end(), part, part + got);
        }
        static SF_VIRTUAL_IO io = {memory_length, memory_seek, memory_read, memory_write, memory_tell};
        source->file = sf_open_virtual(&io, SFM_READ, &info, &source->memory);
    } else {
        source->file = sf_open(path.c_str(), SFM_READ, &info);
    }
    if (!source->file) {
        std::string reason = sf_strerror(nullptr);
        while (!reason.empty() && (reason.back() == '.' || reason.back() == ' ')) reason.pop_back();
        return Status::input(source->name + ": cannot be decoded: " + reason +
                             "; expected WAV, FLAC or Ogg, or raw samples with --format s16le");
    }
    LW_TRY(check_channel(source->name, static_cast<uint32_t>(info.channels), channel));
    source->sample_rate = static_cast<uint32_t>(info.samplerate);
    source->channels = static_cast<uint32_t>(info.channels);
    source->offset = channel ? channel - 1 : 0;
    return SourcePtr(std::move(source));
}

} // namespace longwave::audio
