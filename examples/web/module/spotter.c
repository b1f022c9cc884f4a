/* A keyword spotter for a page: the page writes samples to samples(), calls push, and pulls events.
 * package/spotter.js calls it. */
#include "module.h"
#include <longwave/spotter.h>

static _Alignas(64) unsigned char model_memory[SIZE(_MODEL_BYTES)];
static _Alignas(64) unsigned char spotter_memory[SIZE(_SPOTTER_BYTES)];
static float input[4096];
static lw_model *model;
static lw_spotter *spotter;
static lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
static lw_model_info model_info = LW_MODEL_INFO_INIT;
static lw_input_info audio = LW_INPUT_INFO_INIT;

EXPORT(open) int open_(float threshold) { /* 0: thresholds of the model */
    lw_status status = open_model(model_memory, sizeof model_memory, &model);
    if (status) return status;
    if ((status = lw_model_get_info(model, &model_info)) || (status = lw_model_input(model, 0, &audio)))
        return status;
    lw_spotter_options options = LW_SPOTTER_OPTIONS_INIT;
    options.format = LW_F32;
    options.threshold = threshold;
    return lw_spotter_init(model, &options, spotter_memory, sizeof spotter_memory, &spotter);
}
EXPORT(sample_rate) unsigned sample_rate(void) { return audio.sample_rate; }
EXPORT(block) unsigned block(void) { return SIZE(_BLOCK); }
EXPORT(samples) float *samples(void) { return input; }
EXPORT(samples_capacity) size_t samples_capacity(void) { return sizeof input / sizeof *input; }

EXPORT(push) int push(size_t n) {
    size_t taken;
    return lw_spotter_push(spotter, input, n, &taken);
}
EXPORT(finish) int finish(void) { return lw_spotter_finish(spotter); }
EXPORT(reset) int reset(void) { return lw_spotter_reset(spotter); }

/* 1: there is an event, which the next five functions describe. */
EXPORT(pull) int pull(void) { return lw_spotter_pull(spotter, &event) == LW_OK; }
EXPORT(event_word) const char *event_word(void) { return event.word; }
EXPORT(event_label) unsigned event_label(void) { return event.label; }
EXPORT(event_score) float event_score(void) { return event.score; }
EXPORT(event_tick) double event_tick(void) { return (double)event.tick; }
EXPORT(event_start) double event_start(void) { return (double)event.tick_start; }

EXPORT(scores) const float *scores(void) {
    const float *at;
    uint32_t n;
    return lw_spotter_scores(spotter, &at, &n) ? NULL : at;
}
EXPORT(labels) unsigned labels(void) {
    const float *at;
    uint32_t n;
    return lw_spotter_scores(spotter, &at, &n) ? 0 : n;
}
EXPORT(label) const char *label(unsigned i) { return lw_model_label(model, i); }
EXPORT(threshold) float threshold(unsigned i) { return lw_spotter_threshold(spotter, i); }
