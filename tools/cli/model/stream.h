// A stream of an open model, in this process or in another one.
#pragma once
#include "tools/cli/model/model.h"
#include <functional>
#include <memory>
#include <vector>

namespace longwave::cli {

class RemoteStream; // remote/remote_model.h

// One row of a stream's output.
struct StreamRow {
    uint32_t index, width; // which output, floats
    uint64_t row;          // its number
    const float *data;
};
using OnRow = std::function<void(const StreamRow &row)>;

class Stream {
public:
    static Expected<Stream> create(const Model &model, lw_sample_format format = LW_F32, uint32_t entry = 0);
    // All n ticks, handing out rows as they appear. `samples` holds n × width elements of the
    // format.
    Status push(const void *samples, size_t n, const OnRow &row);
    Status pull(const OnRow &row); // the rows that are ready
    Status finish(const OnRow &row);
    Status reset();
    Status prefill(const void *samples, size_t n);
    Expected<std::vector<uint8_t>> save() const;
    Status load(const std::vector<uint8_t> &state);
    Status copy_from(const Stream &other); // of the same model
    lw_stream_stats stats() const;         // of a stream in this process
    lw_stream *get() const { return handle_.get(); }

private:
    std::shared_ptr<lw_stream> handle_;
    std::shared_ptr<RemoteStream> remote_; // instead of it
    std::vector<float> rows_;              // room for the rows of one pull
    size_t tick_bytes_ = 4;
};

} // namespace longwave::cli
