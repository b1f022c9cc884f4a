/* A speech detector for a page: the page writes samples to samples(), calls push, and pulls events.
 * package/speech-detector.js calls it. */
#include "module.h"
#include <longwave/speech_detector.h>

static _Alignas(64) unsigned char model_memory[SIZE(_MODEL_BYTES)];
static _Alignas(64) unsigned char detector_memory[SIZE(_SPEECH_DETECTOR_BYTES)];
static float input[4096];
static lw_model *model;
static lw_speech_detector *detector;
static lw_speech_event event = LW_SPEECH_EVENT_INIT;
static lw_input_info audio = LW_INPUT_INFO_INIT;

/* The arguments are those of lw_speech_detector_options. */
EXPORT(open)
int open_(double threshold, double negative_threshold, double min_speech_ms, double min_silence_ms,
          double speech_pad_ms, double max_speech_s) {
    lw_status status = open_model(model_memory, sizeof model_memory, &model);
    if (status) return status;
    if ((status = lw_model_input(model, 0, &audio))) return status;
    lw_speech_detector_options options = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    options.format = LW_F32;
    options.threshold = threshold;
    options.negative_threshold = negative_threshold;
    options.min_speech_ms = min_speech_ms;
    options.min_silence_ms = min_silence_ms;
    options.speech_pad_ms = speech_pad_ms;
    options.max_speech_s = max_speech_s;
    options.rows = 1;
    return lw_speech_detector_init(model, &options, detector_memory, sizeof detector_memory, &detector);
}
EXPORT(sample_rate) unsigned sample_rate(void) { return audio.sample_rate; }
EXPORT(hop) unsigned hop(void) { return lw_speech_detector_hop(detector); }
EXPORT(samples) float *samples(void) { return input; }
EXPORT(samples_capacity) size_t samples_capacity(void) { return sizeof input / sizeof *input; }

/* Takes samples from `at` on. Returns how many; fewer than n: pull, and push the rest. -1: failed. */
EXPORT(push) int push(size_t at, size_t n) {
    size_t taken;
    return lw_speech_detector_push(detector, input + at, n, &taken) ? -1 : (int)taken;
}
EXPORT(finish) int finish(void) { return lw_speech_detector_finish(detector); }
EXPORT(reset) int reset(void) { return lw_speech_detector_reset(detector); }

/* 1: there is an event, which the next five functions describe. */
EXPORT(pull) int pull(void) { return lw_speech_detector_pull(detector, &event) == LW_OK; }
EXPORT(event_kind) int event_kind(void) { return event.kind; }
EXPORT(event_start) double event_start(void) { return (double)event.start; }
EXPORT(event_end) double event_end(void) { return (double)event.end; }
EXPORT(event_tick) double event_tick(void) { return (double)event.tick; }
EXPORT(event_probability) float event_probability(void) { return event.probability; }
