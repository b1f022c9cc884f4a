// Interleaved PCM or float samples, decoded as they arrive.
#include "formats/audio/source.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace longwave::audio {
namespace {

template <class T> T load(const uint8_t *p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

class PcmSource final : public Source {
public:
    PcmSource(Bytes bytes, const Pcm &pcm, const Options &options)
        : bytes_(std::move(bytes)), pcm_(pcm), frame_(bytes_of(pcm.encoding) * pcm.channels),
          offset_(bytes_of(pcm.encoding) * (options.channel ? options.channel - 1 : 0)), left_(pcm.bytes),
          warn_(options.warn), stop_(options.stop) {
        sample_rate = pcm.sample_rate;
    }

    Expected<size_t> read(float *samples, size_t n) override {
        // A pipe may cut a frame in two: keep its first bytes for the next read.
        buffer_.resize(std::max(frame_, std::min<size_t>(n, 4096) * frame_));
        while (held_ < frame_) {
            const size_t wanted = static_cast<size_t>(std::min<uint64_t>(buffer_.size() - held_, left_));
            if (wanted == 0) return size_t{0};
            LW_ASSIGN(const size_t got, bytes_.some(buffer_.data() + held_, wanted));
            if (got == 0) {
                tell_of_cut();
                return size_t{0};
            }
            held_ += got;
            if (left_ != UINT64_MAX) left_ -= got;
        }
        const size_t frames = std::min(n, held_ / frame_);
        for (size_t i = 0; i < frames; i++) samples[i] = sample(buffer_.data() + i * frame_ + offset_);
        held_ -= frames * frame_;
        std::memmove(buffer_.data(), buffer_.data() + frames * frame_, held_);
        return frames;
    }

private:
    // The input has ended. Whoever stopped it knows.
    void tell_of_cut() {
        const auto warn = std::exchange(warn_, nullptr);
        if (!warn || (stop_ && *stop_)) return;
        if (held_ > 0)
            warn(bytes_.name() + ": ends inside a sample; its last " + std::to_string(held_) +
                 (held_ == 1 ? " byte is" : " bytes are") + " left out");
        if (left_ == UINT64_MAX) return;
        warn(cut_warning(bytes_.name(), pcm_.bytes / frame_, (pcm_.bytes - left_) / frame_));
    }
    float sample(const uint8_t *at) const {
        if (!pcm_.big_endian) return decode(pcm_.encoding, at);
        uint8_t reversed[8];
        std::reverse_copy(at, at + bytes_of(pcm_.encoding), reversed);
        return decode(pcm_.encoding, reversed);
    }
    Bytes bytes_;
    Pcm pcm_;
    size_t frame_, offset_, held_ = 0;
    uint64_t left_;
    std::function<void(const std::string &)> warn_;
    const std::atomic<bool> *stop_;
    std::vector<uint8_t> buffer_;
};

} // namespace

float decode(Encoding encoding, const uint8_t *p) {
    switch (encoding) {
    case Encoding::u8: return (static_cast<float>(*p) - 128.0f) / 128.0f;
    case Encoding::s8: return static_cast<float>(load<int8_t>(p)) / 128.0f;
    case Encoding::s16: return static_cast<float>(load<int16_t>(p)) / 32768.0f;
    case Encoding::s24:
    case Encoding::s24_low:
        return static_cast<float>(
                   static_cast<int32_t>(uint32_t{p[0]} << 8 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 24)) /
               2147483648.0f;
    case Encoding::s32: return static_cast<float>(load<int32_t>(p)) / 2147483648.0f;
    case Encoding::f32: return load<float>(p);
    case Encoding::f64: return static_cast<float>(load<double>(p));
    case Encoding::mulaw: return decode_mulaw(*p);
    case Encoding::alaw: return decode_alaw(*p);
    }
    return 0;
}

size_t bytes_of(Encoding encoding) {
    switch (encoding) {
    case Encoding::u8:
    case Encoding::s8:
    case Encoding::mulaw:
    case Encoding::alaw: return 1;
    case Encoding::s16: return 2;
    case Encoding::s24: return 3;
    case Encoding::s24_low:
    case Encoding::s32:
    case Encoding::f32: return 4;
    case Encoding::f64: return 8;
    }
    return 1;
}

SourcePtr open_pcm(Bytes bytes, const Pcm &pcm, const Options &options) {
    return std::make_unique<PcmSource>(std::move(bytes), pcm, options);
}

// Mu-law and A-law of ITU-T G.711, in fractions of full scale.

float decode_mulaw(uint8_t code) {
    const unsigned bits = static_cast<uint8_t>(~code);
    const int magnitude = static_cast<int>(((bits & 15) << 3) + 132) << (bits >> 4 & 7);
    return static_cast<float>(bits & 128 ? 132 - magnitude : magnitude - 132) / 32768.0f;
}

float decode_alaw(uint8_t code) {
    const unsigned bits = code ^ 0x55u, segment = bits >> 4 & 7;
    int magnitude = static_cast<int>((bits & 15) << 4) + 8;
    if (segment > 0) magnitude = (magnitude + 256) << (segment - 1);
    return static_cast<float>(bits & 128 ? magnitude : -magnitude) / 32768.0f;
}

} // namespace longwave::audio
