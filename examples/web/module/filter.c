/* A filter of audio for a page, such as a denoiser: the page writes samples to samples(), calls
 * process and reads as many samples there. package/audio-filter.js calls it. */
#include "module.h"
#include <longwave/audio_stream.h>

static _Alignas(64) unsigned char model_memory[SIZE(_MODEL_BYTES)];
static float block[4096];
static lw_model *model;
static lw_audio_stream *stream;
static lw_audio_stream_info info = LW_AUDIO_STREAM_INFO_INIT;

/* rate: of the samples in and out, Hz. 0: that of the model. */
EXPORT(open) int open_(unsigned rate) {
    lw_status status = open_model(model_memory, sizeof model_memory, &model);
    if (status) return status;
    lw_input_info audio = LW_INPUT_INFO_INIT;
    if ((status = lw_model_input(model, 0, &audio))) return status;
    lw_audio_stream_options options = LW_AUDIO_STREAM_OPTIONS_INIT;
    options.format = LW_F32;
    options.live = 1;
    options.rate_in = options.rate_out = rate ? rate : audio.sample_rate;
    size_t size, alignment;
    if ((status = lw_audio_stream_size(model, &options, &size, &alignment))) return status;
    void *memory = more_memory(size);
    if (!memory) {
        lw_set_last_error("the browser gives no more memory");
        return LW_NO_MEMORY;
    }
    if ((status = lw_audio_stream_init(model, &options, memory, size, &stream))) return status;
    return lw_audio_stream_get_info(stream, &info);
}
EXPORT(sample_rate) unsigned sample_rate(void) { return info.rate_in; }
EXPORT(latency) unsigned latency(void) { return info.latency; }
EXPORT(samples) float *samples(void) { return block; }
EXPORT(samples_capacity) size_t samples_capacity(void) { return sizeof block / sizeof *block; }

/* n samples become n samples, later by latency(). */
EXPORT(process) int process(size_t n) { return lw_audio_stream_process(stream, block, block, n); }
EXPORT(reset) int reset(void) { return lw_audio_stream_reset(stream); }
