#include "runtime/listen/listener.h"
#include "formats/artifact/hash.h"
#include "runtime/core/sample_format.h"
#include "runtime/core/samples.h"
#include "runtime/stream/blocks.h"
#include "runtime/stream/scalars.h"
#include "runtime/stream/state.h"
#include <cstring>

namespace longwave::runtime {
namespace {

// At most n samples with their gain, to the stream. Not inlined: a listener without gain needs no
// stack for it, and microcontrollers have little.
[[gnu::noinline]] lw_status push_amplified(Listener &listener, const uint8_t *from, size_t n, size_t *taken) {
    constexpr size_t at_once = 64;
    float plain[at_once], amplified[at_once];
    GainState &state = listener.heard.gain;
    const uint64_t step = listener.gain.samples_of_step(state);
    if (n > step) n = static_cast<size_t>(step);
    if (n > at_once) n = at_once;
    if (listener.format == LW_F32) memcpy(plain, from, n * sizeof *plain); // the stream counts NaN
    else convert({from, listener.format, n, 1, 1}, reinterpret_cast<uint8_t *>(plain), sizeof *plain);
    const float factor = listener.gain.factor(state);
    for (size_t i = 0; i < n; ++i) amplified[i] = plain[i] * factor;
    if (lw_status status = lw_stream_push(listener.stream, amplified, n, taken)) return status;
    listener.gain.heard(plain, *taken, state);
    return LW_OK;
}

// Starts anew with the stream, but for the count of what came before.
void recover(Listener &listener) {
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    lw_stream_get_stats(listener.stream, &stats);
    Heard &heard = listener.heard;
    heard.before += stats.ticks;
    heard.blocks += stats.blocks;
    heard.non_finite += stats.non_finite;
    heard.non_finite_outputs += stats.non_finite_outputs;
    ++heard.resets;
    clear_but_scalars(*listener.stream);
    heard.deaf = false;
}

} // namespace

lw_status find_stream(const lw_model &model, const fb::Entry **stream) {
    *stream = model.view.stream();
    return *stream ? LW_OK
                   : fail(LW_NO_STREAM, {model.plan().name()->c_str(), " was compiled without a stream"});
}

lw_status find_audio(const lw_model &model, const fb::Entry &stream, uint32_t *sample_rate) {
    const fb::Input &input = *model.plan().inputs()->Get(stream.inputs()->Get(0)->input());
    if (input.kind() != fb::InputKind::audio) return fail(LW_NOT_FOUND, "the model does not listen to audio");
    *sample_rate = input.sample_rate();
    return LW_OK;
}

lw_status read_settings(const ListenerSettings &settings, lw_sample_format *format, Gain *gain,
                        lw_stream_options *stream) {
    if (lw_status status = read_format(settings.options, fb::InputKind::audio, format)) return status;
    const bool automatic = settings.auto_gain != 0;
    if (!(settings.gain_db >= (automatic ? Gain::least_auto_db : Gain::least_db) &&
          settings.gain_db <= (automatic ? Gain::most_auto_db : Gain::most_db)))
        return fail(LW_INVALID_ARGUMENT, {settings.options, automatic ? ": gain_db is not in -12 ... 30"
                                                                      : ": gain_db is not in -60 ... 60"});
    gain->build(settings.sample_rate, settings.gain_db, automatic);
    stream->struct_size = sizeof *stream;
    stream->format = *format;
    stream->block = settings.block;
    stream->no_larger_blocks = 1; // audio is pushed as it comes
    if (gain->active() && format_fits(*format, fb::InputKind::audio)) stream->format = LW_F32;
    return LW_OK;
}

void begin(Listener &listener) {
    listener.heard = Heard{};
    listener.heard.gain = listener.gain.begin();
}

lw_status push_piece(Listener &listener, const uint8_t *from, size_t n, size_t *taken) {
    const uint64_t to_block = ticks_to_block(*listener.stream);
    const size_t piece = n < to_block ? n : static_cast<size_t>(to_block);
    return from && listener.gain.active() ? push_amplified(listener, from, piece, taken)
                                          : lw_stream_push(listener.stream, from, piece, taken);
}

lw_status pull_row(Listener &listener, lw_stream_row *row) {
    Heard &heard = listener.heard;
    lw_status status;
    while ((status = lw_stream_pull(listener.stream, row)) == LW_OK) {
        if (row->index != listener.output) continue;
        uint64_t bad = 0;
        heard.deaf |=
            count_non_finite(reinterpret_cast<const uint8_t *>(row->data), row->width, 1, 0, &bad) > 0;
        if (!heard.deaf) return LW_OK;
    }
    if (status == LW_AGAIN && heard.deaf)
        recover(listener); // at the end of the audio there is nothing left to hear
    return status;
}

lw_status stats_of(const Listener &listener, lw_stream_stats *stats) {
    lw_stream_stats now{};
    now.struct_size = sizeof now;
    if (lw_status status = lw_stream_get_stats(listener.stream, &now)) return status;
    const Heard &past = listener.heard;
    now.ticks += past.before;
    now.blocks += past.blocks;
    now.non_finite += past.non_finite;
    now.non_finite_outputs += past.non_finite_outputs;
    now.resets = past.resets;
    return copy_sized(stats, now) ? LW_OK
                                  : fail(LW_INVALID_ARGUMENT, "stats is NULL or its struct_size is not set");
}

lw_status check_memory(const char *what, const void *memory, size_t size, uint64_t needed) {
    if (!memory || reinterpret_cast<uintptr_t>(memory) % line != 0)
        return fail(LW_INVALID_ARGUMENT, {"memory is NULL or not aligned to ", uint64_t(line)});
    return size < needed ? fail(LW_TOO_SMALL, {what, " needs ", needed, " bytes, given ", uint64_t(size)})
                         : LW_OK;
}

uint64_t saved_checksum(const uint8_t *bytes, uint64_t n) {
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(bytes, n, digest);
    uint64_t sum;
    memcpy(&sum, digest, sizeof sum);
    return sum;
}

} // namespace longwave::runtime
