/* An LV2 plug-in that sends audio through a compiled model with audio in and audio out, such as a
 * denoiser. The model is the file filter.lw in the bundle of the plug-in.
 *
 * A host may ask for any number of samples, at any rate. An audio stream gives n samples for n
 * samples, later by a constant latency, which the plug-in reports. Where the rate of the host is
 * not that of the model, it converts on both sides.
 */
#include <longwave/audio_stream.h>
#include <lv2/core/lv2.h>
#include <stdio.h>
#include <stdlib.h>

#define URI "urn:longwave:filter"

enum { IN, OUT, LATENCY }; /* ports */

typedef struct {
    lw_model *model;
    lw_audio_stream *stream;
    const float *in;
    float *out, *latency;
} Filter;

static void cleanup(LV2_Handle handle) {
    Filter *self = handle;
    lw_audio_stream_destroy(self->stream);
    lw_model_close(self->model);
    free(self);
}

/* A call of the library failed. */
static LV2_Handle failed(Filter *self, const char *what) {
    fprintf(stderr, "longwave filter: %s: %s\n", what, lw_last_error());
    cleanup(self);
    return NULL;
}

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features) {
    (void)descriptor, (void)features;
    Filter *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/filter.lw", bundle) >= (int)sizeof path) {
        lw_set_last_error("the path of the bundle is too long");
        return failed(self, bundle);
    }
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1; /* the user installed the bundle */
    if (lw_model_open(path, &open, &self->model)) return failed(self, path);
    lw_audio_stream_options how = LW_AUDIO_STREAM_OPTIONS_INIT;
    how.format = LW_F32;
    how.live = 1;
    how.rate_in = how.rate_out = (uint32_t)(rate + 0.5);
    if (lw_audio_stream_create(self->model, &how, &self->stream)) return failed(self, path);
    return self;
}

static void connect_port(LV2_Handle handle, uint32_t port, void *data) {
    Filter *self = handle;
    if (port == IN) self->in = data;
    else if (port == OUT) self->out = data;
    else if (port == LATENCY) self->latency = data;
}

static void activate(LV2_Handle handle) {
    Filter *self = handle;
    lw_audio_stream_reset(self->stream);
}

/* Calls no function of the system. After a failure the output is silence. */
static void run(LV2_Handle handle, uint32_t n) {
    Filter *self = handle;
    if (self->latency) *self->latency = (float)lw_audio_stream_latency(self->stream);
    if (n > 0) lw_audio_stream_process(self->stream, self->in, self->out, n);
}

static const LV2_Descriptor descriptor = {URI, instantiate, connect_port, activate, run, NULL, cleanup, NULL};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index) {
    return index == 0 ? &descriptor : NULL;
}
