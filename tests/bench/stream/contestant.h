// Long convolutions as streams: one problem, and who solves it block by block.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace longwave::bench {

struct StreamProblem {
    uint32_t channels = 1, block = 64, taps = 16384;
    bool mixes = false;        // each output hears all channels; else its own
    std::vector<float> kernel; // [output][channel that it hears][tap]
    std::vector<float>
        input; // [row][channel], whole blocks of at least the taps: it begins anew behind the end

    // The filters: output o hears channel first(o) and so many from there on.
    uint32_t heard() const { return mixes ? channels : 1; }
    uint32_t first(uint32_t output) const { return mixes ? 0 : output; }
    const float *filter(uint32_t output, uint32_t number) const {
        return &kernel[(size_t{output} * heard() + number) * taps];
    }
    size_t input_rows() const { return input.size() / channels; }
    const float *rows(uint64_t block_index) const {
        return &input[block_index * block % input_rows() * channels];
    }
};

class StreamContestant {
public:
    virtual ~StreamContestant() = default;
    virtual std::string name() const = 0;
    virtual uint32_t period() const = 0; // blocks after which its work repeats
    // One block of rows [row][channel]: in, and what comes out for it.
    virtual Status block(const float *in, float *out) = 0;
    virtual std::string settings() const { return {}; }
};

using Streamer = Expected<std::unique_ptr<StreamContestant>>;
// Compiled with longwave-kgen, through lw_stream_push and lw_stream_pull_rows.
Streamer our_stream(const StreamProblem &problem, const std::string &target, const std::string &convolution);
// Partitions as long as the block; one real transform of twice its length each way.
Streamer fftw_stream(const StreamProblem &problem);
// Partitions up to `largest`. Its threads run on the caller's processor.
Streamer zita_stream(const StreamProblem &problem, uint32_t largest);

} // namespace longwave::bench
