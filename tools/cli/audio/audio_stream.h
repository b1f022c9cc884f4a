// lw_audio_stream with C++ lifetimes.
#pragma once
#include "tools/cli/model/model.h"
#include <functional>
#include <longwave/audio_stream.h>
#include <string>
#include <vector>

namespace longwave::cli {

class AudioStream {
public:
    using OnSamples = std::function<Status(const float *samples, size_t n)>;

    // rate: of pushed and pulled samples; 0: those of the model. `live`: its latency stays. block: of the
    // stream; 0: that of the default entry.
    static Expected<AudioStream> create(const Model &model, const std::string &output, uint32_t rate,
                                        bool live, uint32_t block = 0);

    Status push(const float *samples, size_t n, const OnSamples &take);
    Status finish(const OnSamples &take);
    lw_audio_stream_info info() const;

private:
    Status pull(const OnSamples &take);
    std::shared_ptr<lw_audio_stream> handle_;
    std::vector<float> ready_;
};

} // namespace longwave::cli
