// From rows to samples at their places in time.
#include "runtime/audio_stream/audio_stream.h"

namespace longwave::runtime {
namespace {

// A sample of the caller's rate.
void wait_for_pull(lw_audio_stream &audio, float sample) {
    if (audio.now.debt > 0) --audio.now.debt; // a zero stood for it
    else audio.waiting.add(sample);
}

// n samples of the model's rate, at most samples_at_once; null: zeros.
lw_status emit(lw_audio_stream &audio, const float *samples, uint64_t n) {
    static const float zeros[samples_at_once] = {};
    if (!samples) samples = zeros;
    if (!audio.after) {
        for (uint64_t i = 0; i < n; ++i) wait_for_pull(audio, samples[i]);
        return LW_OK;
    }
    size_t count = 0;
    if (lw_status status = lw_resampler_push(audio.after, samples, static_cast<size_t>(n), audio.piece,
                                             audio.shape.piece, &count))
        return status;
    for (size_t i = 0; i < count; ++i) wait_for_pull(audio, audio.piece[i]);
    return LW_OK;
}

lw_status emit_all(lw_audio_stream &audio, const float *samples, uint64_t n) {
    for (uint64_t done = 0, piece; done < n; done += piece) {
        piece = n - done < samples_at_once ? n - done : samples_at_once;
        if (lw_status status = emit(audio, samples ? samples + done : nullptr, piece)) return status;
    }
    return LW_OK;
}

// Silence up to a sample of the model.
lw_status fill_to(lw_audio_stream &audio, uint64_t sample) {
    if (sample <= audio.now.next) return LW_OK;
    const uint64_t missing = sample - audio.now.next;
    audio.now.next = sample;
    return emit_all(audio, nullptr, missing);
}

// The sample of the model where the stream began, or began anew.
uint64_t origin(const lw_audio_stream &audio) {
    return scaled_down(audio.listener.heard.before, audio.shape.model_out, audio.shape.model_in);
}

lw_status hear_row(lw_audio_stream &audio, const lw_stream_row &row) {
    const uint32_t width = audio.shape.width;
    const uint64_t at = origin(audio) + row.row * width;
    if (lw_status status = fill_to(audio, at)) return status;
    const uint64_t heard = audio.now.next - at; // the lag, or samples of before a restart
    if (heard >= width) return LW_OK;
    audio.now.next = at + width;
    return emit_all(audio, row.data + heard, width - heard);
}

} // namespace

lw_status hear_rows(lw_audio_stream &audio) {
    const uint64_t resets = audio.listener.heard.resets;
    lw_stream_row row{};
    row.struct_size = sizeof row;
    lw_status status = LW_OK;
    // The rows of one block have room. At the end each row brings its own block.
    while (audio.now.ending != Ending::rows || audio.waiting.room() >= audio.shape.block_samples) {
        if ((status = pull_row(audio.listener, &row)) != LW_OK) break;
        if (lw_status failed = hear_row(audio, row)) return failed;
    }
    if (status == LW_END && audio.now.ending == Ending::rows) audio.now.ending = Ending::filter;
    // What was not finite is silence, so that time goes on.
    if (audio.listener.heard.resets != resets) return fill_to(audio, origin(audio));
    return status == LW_AGAIN || status == LW_END ? LW_OK : status;
}

lw_status end_filter(lw_audio_stream &audio) {
    audio.now.ending = Ending::done;
    if (!audio.after) return LW_OK;
    size_t count = 0;
    if (lw_status status = lw_resampler_finish(audio.after, audio.piece, audio.shape.piece, &count))
        return status;
    for (size_t i = 0; i < count; ++i) wait_for_pull(audio, audio.piece[i]);
    return LW_OK;
}

} // namespace longwave::runtime
