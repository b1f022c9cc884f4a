#include "tools/cli/audio/audio_output.h"
#include "formats/artifact/write.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace longwave::cli {
namespace {

// From the place where the file stands, or from `at`.
bool write_all(int file, const std::vector<uint8_t> &bytes, std::optional<off_t> at) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t n =
            at ? pwrite(file, bytes.data() + done, bytes.size() - done, *at + static_cast<off_t>(done))
               : ::write(file, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO;
        if (n <= 0) return false;
        done += static_cast<size_t>(n);
    }
    return true;
}

} // namespace

Status AudioOutput::put(const std::vector<uint8_t> &bytes) {
    if (write_all(file_, bytes, std::nullopt)) return {};
    return Status::device(name_ + ": cannot write: " + std::strerror(errno));
}

Status AudioOutput::begin() {
    if (!form_.wav) return {};
    LW_ASSIGN(const std::vector<uint8_t> header, audio::wav_header(form_.rate, form_.samples, std::nullopt));
    return put(header);
}

Status AudioOutput::write(const float *samples, size_t n) {
    bytes_.clear();
    audio::encode(form_.samples, {samples, n}, bytes_);
    samples_ += n;
    return put(bytes_);
}

Status AudioOutput::end(bool in_place) {
    if (!form_.wav || in_place) return {};
    LW_ASSIGN(const std::vector<uint8_t> header, audio::wav_header(form_.rate, form_.samples, samples_));
    if (write_all(file_, header, 0)) return {};
    return Status::device(name_ + ": cannot write: " + std::strerror(errno));
}

Status write_audio(const std::string &path, const AudioForm &form,
                   const std::function<Status(AudioOutput &output)> &make) {
    const auto all = [&](int file, bool in_place) -> Status {
        AudioOutput output(file, path == "-" ? "standard output" : path, form);
        LW_TRY(output.begin());
        LW_TRY(make(output));
        return output.end(in_place);
    };
    return path == "-" ? all(STDOUT_FILENO, true) : artifact::write_stream_atomically(path, all);
}

} // namespace longwave::cli
