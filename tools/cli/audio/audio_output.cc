#include "tools/cli/audio/audio_output.h"
#include "formats/artifact/write.h"
#include "tools/cli/model/model.h"
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

Expected<AudioStream> AudioStream::create(const Model &model, const std::string &output, uint32_t rate,
                                          bool live, uint32_t block) {
    lw_audio_stream_options options = LW_AUDIO_STREAM_OPTIONS_INIT;
    options.format = LW_F32;
    options.output = output.empty() ? nullptr : output.c_str();
    options.rate_in = options.rate_out = rate;
    options.live = live;
    options.block = block;
    lw_audio_stream *stream = nullptr;
    LW_TRY(status_of(lw_audio_stream_create(model.handle.get(), &options, &stream), model.info.name));
    AudioStream result;
    result.handle_ = std::shared_ptr<lw_audio_stream>(
        stream, [keep = model.handle](lw_audio_stream *s) { lw_audio_stream_destroy(s); });
    result.ready_.resize(4096);
    return result;
}

Status AudioStream::pull(const OnSamples &take) {
    for (;;) {
        size_t n = 0;
        const lw_status status = lw_audio_stream_pull(handle_.get(), ready_.data(), ready_.size(), &n);
        if (status == LW_AGAIN || status == LW_END) return {};
        LW_TRY(status_of(status, "pull"));
        LW_TRY(take(ready_.data(), n));
    }
}

Status AudioStream::push(const float *samples, size_t n, const OnSamples &take) {
    while (n > 0) {
        size_t taken = 0;
        LW_TRY(status_of(lw_audio_stream_push(handle_.get(), samples, n, &taken), "push"));
        LW_TRY(pull(take));
        samples += taken;
        n -= taken;
    }
    return {};
}

Status AudioStream::finish(const OnSamples &take) {
    LW_TRY(status_of(lw_audio_stream_finish(handle_.get()), "finish"));
    return pull(take);
}

lw_audio_stream_info AudioStream::info() const {
    lw_audio_stream_info info = LW_AUDIO_STREAM_INFO_INIT;
    (void)lw_audio_stream_get_info(handle_.get(), &info);
    return info;
}

} // namespace longwave::cli
