// From pushed samples to ticks of the stream.
#include "runtime/audio_stream/audio_stream.h"
#include "runtime/core/samples.h"
#include "runtime/stream/blocks.h"
#include "runtime/stream/state.h"
#include <cstring>

namespace longwave::runtime {
namespace {

// Ticks to the stream, at most to the end of its block, and the samples that they bring. *taken may
// be less than n, and is 0 where the next tick would bring more than there is room for.
lw_status feed(lw_audio_stream &audio, const uint8_t *from, size_t n, size_t *taken) {
    const uint64_t to_block = ticks_to_block(*audio.listener.stream);
    const uint64_t most =
        audio.waiting.room() < audio.shape.block_samples && to_block > 0 ? to_block - 1 : to_block;
    *taken = 0;
    if (n > most) n = static_cast<size_t>(most);
    if (n == 0) return LW_OK;
    if (lw_status status = push_piece(audio.listener, from, n, taken)) return status;
    return hear_rows(audio);
}

// The same of the resampled ticks that wait.
lw_status feed_ticks(lw_audio_stream &audio, bool *all) {
    AudioProgress &now = audio.now;
    while (now.ticks_count > 0) {
        size_t taken = 0;
        const uint8_t *from = reinterpret_cast<const uint8_t *>(audio.ticks + now.ticks_first);
        if (lw_status status = feed(audio, from, now.ticks_count, &taken)) return status;
        if (taken == 0) break;
        now.ticks_first += static_cast<uint32_t>(taken);
        now.ticks_count -= static_cast<uint32_t>(taken);
    }
    *all = now.ticks_count == 0;
    return LW_OK;
}

// So many samples become no more ticks than there is room for.
size_t resampled_at_once(const AudioShape &shape) {
    return static_cast<size_t>(scaled_down(shape.ticks - 1, shape.rate_in, shape.model_in));
}

} // namespace

lw_status take_samples(lw_audio_stream &audio, const uint8_t *samples, size_t n, size_t *taken) {
    AudioProgress &now = audio.now;
    const size_t bytes = sample_bytes(audio.format);
    while (*taken < n) {
        const uint8_t *from = samples + *taken * bytes;
        size_t piece = n - *taken;
        if (!audio.before) {
            if (lw_status status = feed(audio, from, piece, &piece)) return status;
            if (piece == 0) return LW_OK;
        } else {
            bool all = false;
            if (lw_status status = feed_ticks(audio, &all)) return status;
            if (!all) return LW_OK;
            const size_t most = resampled_at_once(audio.shape);
            if (piece > most) piece = most;
            size_t ticks = 0;
            if (lw_status status =
                    lw_resampler_push(audio.before, from, piece, audio.ticks, audio.shape.ticks, &ticks))
                return status;
            now.ticks_first = 0;
            now.ticks_count = static_cast<uint32_t>(ticks);
        }
        *taken += piece;
        now.taken += piece;
    }
    bool all = false;
    return audio.before ? feed_ticks(audio, &all) : LW_OK;
}

lw_status feed_held(lw_audio_stream &audio) {
    bool all = false;
    return feed_ticks(audio, &all);
}

// ---- the end ----

namespace {

// Zeros that complete the row of the last sample, its lag behind it.
lw_status count_zeros(lw_audio_stream &audio) {
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    if (lw_status status = stats_of(audio.listener, &stats)) return status;
    const AudioShape &s = audio.shape;
    const uint64_t ticks = stats.ticks + audio.now.ticks_count;
    const uint64_t samples = scaled_up(ticks, s.model_out, s.model_in) + s.lag;
    const uint64_t rows = (samples + s.width - 1) / s.width,
                   needed = scaled_up(rows, s.clock_den, s.clock_num);
    audio.now.zeros_left = needed > ticks ? needed - ticks : 0;
    return LW_OK;
}

} // namespace

lw_status end_samples(lw_audio_stream &audio) {
    static const float zeros[samples_at_once] = {}; // in any format
    AudioProgress &now = audio.now;
    bool all = false;
    if (lw_status status = feed_ticks(audio, &all)) return status;
    if (!all) return LW_AGAIN;
    if (now.ending == Ending::open) {
        if (audio.before) {
            size_t ticks = 0;
            if (lw_status status = lw_resampler_finish(audio.before, audio.ticks, audio.shape.ticks, &ticks))
                return status;
            now.ticks_first = 0;
            now.ticks_count = static_cast<uint32_t>(ticks);
        }
        now.ending = Ending::ticks;
        if (lw_status status = count_zeros(audio)) return status;
        if (now.ticks_count > 0) return LW_AGAIN;
    }
    while (now.zeros_left > 0) {
        const size_t piece =
            now.zeros_left < samples_at_once ? static_cast<size_t>(now.zeros_left) : samples_at_once;
        size_t taken = 0;
        if (lw_status status = feed(audio, reinterpret_cast<const uint8_t *>(zeros), piece, &taken))
            return status;
        if (taken == 0) return LW_AGAIN;
        now.zeros_left -= taken;
    }
    now.ending = Ending::rows;
    return lw_stream_finish(audio.listener.stream);
}

} // namespace longwave::runtime
