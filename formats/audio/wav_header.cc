#include "formats/audio/wav_header.h"
#include <cmath>
#include <cstring>

namespace longwave::audio {
namespace {

constexpr uint32_t no_length = 0xffffffff;

uint32_t width_of(WrittenForm form) { return form == WrittenForm::f32 ? 4 : 2; }

class HeaderBytes {
public:
    void text(const char *four) { bytes.insert(bytes.end(), four, four + 4); }
    void u16(uint32_t value) {
        for (unsigned shift = 0; shift < 16; shift += 8)
            bytes.push_back(static_cast<uint8_t>(value >> shift));
    }
    void u32(uint32_t value) {
        u16(value & 0xffff);
        u16(value >> 16);
    }
    std::vector<uint8_t> bytes;
};

} // namespace

void encode(WrittenForm form, std::span<const float> samples, std::vector<uint8_t> &bytes) {
    size_t at = bytes.size();
    bytes.resize(at + samples.size() * width_of(form));
    if (form == WrittenForm::f32) {
        if (!samples.empty()) std::memcpy(bytes.data() + at, samples.data(), samples.size_bytes());
        return;
    }
    for (const float sample : samples) {
        const auto value =
            static_cast<int16_t>(std::round(std::fmin(32767.0f, std::fmax(-32768.0f, sample * 32768))));
        std::memcpy(bytes.data() + at, &value, sizeof value);
        at += sizeof value;
    }
}

Expected<std::vector<uint8_t>> wav_header(uint32_t rate, WrittenForm form, std::optional<uint64_t> samples) {
    const bool real = form == WrittenForm::f32;
    const uint32_t each = width_of(form), before = real ? 12 + 8 + 18 + 12 + 8 : 12 + 8 + 16 + 8;
    if (samples && *samples > (no_length - before - 2) / each)
        return Status::usage(
            "the samples are too many for a WAV file, which has at most 4 GiB; write raw samples");
    const uint32_t data = samples ? static_cast<uint32_t>(*samples * each) : no_length;
    HeaderBytes to;
    to.text("RIFF");
    to.u32(samples ? before - 8 + data : no_length);
    to.text("WAVE");
    to.text("fmt ");
    to.u32(real ? 18 : 16);
    to.u16(real ? 3 : 1); // float, or integers
    to.u16(1);            // channels
    to.u32(rate);
    to.u32(rate * each);
    to.u16(each);
    to.u16(8 * each);
    if (real) {
        to.u16(0); // bytes of extension
        to.text("fact");
        to.u32(4);
        to.u32(samples ? static_cast<uint32_t>(*samples) : no_length);
    }
    to.text("data");
    to.u32(data);
    return std::move(to.bytes);
}

} // namespace longwave::audio
