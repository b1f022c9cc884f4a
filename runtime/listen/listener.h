// A stream that hears audio, and the rows of one of its outputs. A stream whose rows are no longer
// finite would stay so. The listener resets it at the end of the block and goes on, so the place of
// the reset does not depend on how the audio is split.
#pragma once
#include "longwave/longwave.h"
#include "runtime/core/model.h"
#include "runtime/core/status.h"
#include "runtime/listen/gain.h"

namespace longwave::runtime {

// What a listener remembers besides its stream. It has no gaps, for it is saved as it is.
struct Heard {
    uint64_t deaf; // a row was not finite: the stream is to be reset
    // Before the stream's last reset of this kind: ticks, and what was counted.
    uint64_t before, blocks, non_finite, non_finite_outputs, resets;
    GainState gain;
};
static_assert(sizeof(Heard) == 6 * 8 + 16);

struct Listener {
    lw_stream *stream;
    uint32_t output;         // its index among the outputs of streams
    lw_sample_format format; // of pushed samples
    Gain gain;
    Heard heard;
};

// The settings that every listener's options have. `options`: name of the struct, for messages.
struct ListenerSettings {
    const char *options;
    uint32_t sample_rate, block;
    float gain_db;
    uint32_t auto_gain;
};

// LW_NO_STREAM, or the stream entry.
lw_status find_stream(const lw_model &model, const fb::Entry **stream);
// The rate of its audio input. LW_NOT_FOUND: the model does not listen to audio.
lw_status find_audio(const lw_model &model, const fb::Entry &stream, uint32_t *sample_rate);
// Checks *format and the gain, and fills in gain and the options of the stream.
lw_status read_settings(const ListenerSettings &settings, lw_sample_format *format, Gain *gain,
                        lw_stream_options *stream);

// As new, but for the stream.
void begin(Listener &listener);
// Samples to the stream, at most to the end of a block: whether the stream must be reset is known
// before the next one begins. *taken: how many.
lw_status push_piece(Listener &listener, const uint8_t *from, size_t n, size_t *taken);
// The next row of the output whose values are finite. Otherwise what lw_stream_pull says. Before
// LW_AGAIN it resets a stream that must be, which heard.resets counts.
lw_status pull_row(Listener &listener, lw_stream_row *row);
// lw_stream_get_stats, with what came before the last reset.
lw_status stats_of(const Listener &listener, lw_stream_stats *stats);

// Pushes n samples. decide(&full) takes the rows that wait; full: no more events fit.
template <class Decide>
lw_status push_all(Listener &listener, const void *samples, size_t n, size_t *taken, const Decide &decide) {
    const uint8_t *from = static_cast<const uint8_t *>(samples);
    bool full = false;
    do {
        if (lw_status status = decide(&full)) return status;
        if (full) return LW_OK;
        size_t now = 0;
        if (lw_status status = push_piece(listener, from, n - *taken, &now)) return status;
        if (from) from += now * (listener.format == LW_S16 ? sizeof(int16_t) : sizeof(float));
        *taken += now;
    } while (*taken < n);
    return decide(&full);
}

// Whether the caller's memory holds an object of `needed` bytes. `what`: "a spotter".
lw_status check_memory(const char *what, const void *memory, size_t size, uint64_t needed);
// An object on a listener in memory of the model's allocator, `size` bytes. init(memory) fills in *out.
template <class Object, class Init> lw_status create_object(const lw_model &model, const char *what,
                                                            size_t size, Object **out, const Init &init) {
    if (lw_status status = model.budget.allows(what, size + model.own_stream_bytes)) return status;
    Block block;
    if (!block.allocate(model.allocator, size)) return no_memory(what, size);
    if (lw_status status = init(block.data)) {
        block.release(model.allocator);
        return status;
    }
    (*out)->owned_bytes = size;
    return LW_OK;
}
template <class Object> void destroy_object(Object *object) {
    if (!object) return;
    const lw_allocator allocator = object->model->allocator; // the stream may be the model's last user
    Block block{reinterpret_cast<uint8_t *>(object), object->owned_bytes};
    lw_stream_destroy(object->listener.stream);
    if (block.size > 0) block.release(allocator);
}

// Of the saved bytes of an object on a listener.
uint64_t saved_checksum(const uint8_t *bytes, uint64_t n);

} // namespace longwave::runtime
