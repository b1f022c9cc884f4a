#include "formats/audio/wav_file.h"
#include <algorithm>
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

} // namespace longwave::audio
