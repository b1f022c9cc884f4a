#include "tools/cli/model/stream.h"
#include "tools/cli/model/status.h"
#include "tools/cli/remote/remote_model.h"
#include <algorithm>

namespace longwave::cli {

Expected<Stream> Stream::create(const Model &model, lw_sample_format format, uint32_t entry) {
    if (!model.info.has_stream)
        return Status::usage(
            std::string(model.info.name) +
            ": the model has no stream entry; compile it with --stream, or use `longwave run`");
    const bool tokens = model.inputs.at(0).kind == LW_INPUT_TOKENS;
    lw_stream_options options = {};
    options.struct_size = sizeof options;
    options.format = tokens ? LW_I32 : format;
    options.block = model.entry(entry).block;
    Stream result;
    result.tick_bytes_ = tokens ? 4 : (format == LW_S16 ? 2 : 4) * size_t{model.inputs[0].width};
    if (model.remote) {
        LW_ASSIGN(result.remote_, RemoteStream::create(model, options, result.tick_bytes_));
        return result;
    }
    lw_stream *stream = nullptr;
    LW_TRY(status_of(lw_stream_create(model.handle.get(), &options, &stream), "stream"));
    // The stream keeps its model alive.
    result.handle_ =
        std::shared_ptr<lw_stream>(stream, [keep = model.handle](lw_stream *s) { lw_stream_destroy(s); });
    size_t widest = 1;
    for (const lw_output_info &output : model.stream_outputs) widest = std::max(widest, size_t{output.width});
    result.rows_.resize(widest * std::max(64u, model.entry(entry).block));
    return result;
}

Status Stream::pull(const OnRow &row) {
    for (;;) {
        lw_stream_rows out = {};
        out.struct_size = sizeof out;
        out.data = rows_.data();
        out.capacity = rows_.size();
        const lw_status status = lw_stream_pull_rows(handle_.get(), &out);
        if (status == LW_AGAIN || status == LW_END) return {};
        LW_TRY(status_of(status, "pull"));
        for (size_t i = 0; i < out.rows; i++)
            row({out.index, out.width, out.row + i, out.data + i * out.width});
    }
}

Status Stream::push(const void *samples, size_t n, const OnRow &row) {
    if (remote_) return remote_->push(samples, n, row);
    auto at = static_cast<const uint8_t *>(samples);
    bool stuck = false;
    while (n > 0) {
        size_t taken = 0;
        LW_TRY(status_of(lw_stream_push(handle_.get(), at, n, &taken), "push"));
        LW_TRY(pull(row));
        if (taken == 0 && stuck)
            return Status::internal("the stream accepts no samples, although its outputs were pulled");
        stuck = taken == 0;
        at += taken * tick_bytes_;
        n -= taken;
    }
    return {};
}

Status Stream::finish(const OnRow &row) {
    if (remote_) return remote_->finish(row);
    LW_TRY(status_of(lw_stream_finish(handle_.get()), "finish"));
    return pull(row);
}

Status Stream::reset() {
    return remote_ ? remote_->reset() : status_of(lw_stream_reset(handle_.get()), "reset");
}

Status Stream::prefill(const void *samples, size_t n) {
    return remote_ ? remote_->prefill(samples, n)
                   : status_of(lw_stream_prefill(handle_.get(), samples, n), "prefill");
}

Expected<std::vector<uint8_t>> Stream::save() const {
    if (remote_) return remote_->save();
    size_t size = 0;
    LW_TRY(status_of(lw_stream_save(handle_.get(), nullptr, 0, &size), "save"));
    std::vector<uint8_t> saved(size);
    LW_TRY(status_of(lw_stream_save(handle_.get(), saved.data(), saved.size(), &size), "save"));
    return saved;
}

Status Stream::load(const std::vector<uint8_t> &state) {
    return remote_ ? remote_->load(state)
                   : status_of(lw_stream_load(handle_.get(), state.data(), state.size()), "load");
}

Status Stream::copy_from(const Stream &other) {
    return remote_ ? remote_->copy_from(*other.remote_)
                   : status_of(lw_stream_copy(handle_.get(), other.handle_.get()), "copy");
}

lw_stream_stats Stream::stats() const {
    lw_stream_stats stats = {};
    stats.struct_size = sizeof stats;
    (void)lw_stream_get_stats(handle_.get(), &stats);
    return stats;
}

} // namespace longwave::cli
