#include "tools/cli/audio/audio_stream.h"
#include "tools/cli/model/status.h"

namespace longwave::cli {

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
