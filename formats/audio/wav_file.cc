#include "formats/audio/wav_file.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sndfile.h>

namespace longwave::audio {
namespace {

// libsndfile writes into memory, so that the file appears at once and complete. It goes back to the
// header at the end.
struct Written {
    std::vector<uint8_t> bytes;
    size_t at = 0;

    static Written &of(void *data) { return *static_cast<Written *>(data); }
    static sf_count_t length(void *data) { return static_cast<sf_count_t>(of(data).bytes.size()); }
    static sf_count_t tell(void *data) { return static_cast<sf_count_t>(of(data).at); }
    static sf_count_t seek(sf_count_t offset, int whence, void *data) {
        const sf_count_t to = offset + (whence == SEEK_SET   ? 0
                                        : whence == SEEK_CUR ? tell(data)
                                                             : length(data));
        if (to < 0) return -1;
        of(data).at = static_cast<size_t>(to);
        return to;
    }
    static sf_count_t read(void *to, sf_count_t n, void *data) {
        Written &file = of(data);
        const size_t left = file.bytes.size() - std::min(file.at, file.bytes.size());
        const size_t count = std::min(static_cast<size_t>(n), left);
        if (count > 0) std::memcpy(to, file.bytes.data() + file.at, count);
        file.at += count;
        return static_cast<sf_count_t>(count);
    }
    static sf_count_t write(const void *from, sf_count_t n, void *data) {
        Written &file = of(data);
        const auto count = static_cast<size_t>(n);
        if (file.bytes.size() < file.at + count) file.bytes.resize(file.at + count);
        if (count > 0) std::memcpy(file.bytes.data() + file.at, from, count);
        file.at += count;
        return n;
    }
};

} // namespace

Expected<std::vector<uint8_t>> wav_file(uint32_t rate, uint32_t channels, const std::vector<float> &samples) {
    if (samples.size() > (UINT32_MAX - 4096) / sizeof(float))
        return Status::usage("the samples are too many for a WAV file, which has at most 4 GiB");
    Written file;
    SF_VIRTUAL_IO io = {Written::length, Written::seek, Written::read, Written::write, Written::tell};
    SF_INFO info = {};
    info.samplerate = static_cast<int>(rate);
    info.channels = static_cast<int>(channels);
    info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    std::unique_ptr<SNDFILE, int (*)(SNDFILE *)> sound(sf_open_virtual(&io, SFM_WRITE, &info, &file),
                                                       sf_close);
    if (!sound) return Status::internal(std::string("libsndfile: ") + sf_strerror(nullptr));
    // The chunk PEAK holds the time of writing: the same samples give the same bytes without it.
    sf_command(sound.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
    const auto count = static_cast<sf_count_t>(samples.size());
    if (sf_write_float(sound.get(), samples.data(), count) != count)
        return Status::internal(std::string("libsndfile: ") + sf_strerror(sound.get()));
    sound.reset(); // completes the header
    return std::move(file.bytes);
}

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
