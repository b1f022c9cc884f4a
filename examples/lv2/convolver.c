/* An LV2 plug-in that streams a compiled model, such as the impulse response of a room. The model
 * has as many features in and out as the plug-in has channels: CHANNELS, 1 or 2. It is the file
 * convolver.lw in the bundle of the plug-in.
 *
 * A host may ask for any number of samples, but a stream computes whole blocks. So the output comes
 * up to one block less one sample later, and later by what the model waits for. The plug-in reports
 * this latency.
 */
#include <longwave/longwave.h>
#include <lv2/core/lv2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CHANNELS
#define CHANNELS 1
#endif
#if CHANNELS == 2
#define URI "urn:longwave:stereo-convolver"
#else
#define URI "urn:longwave:convolver"
#endif

/* Ports: the inputs, the outputs, the latency. */
enum { IN = 0, OUT = CHANNELS, LATENCY = 2 * CHANNELS };

typedef struct {
    lw_model *model;
    lw_stream *stream;
    const float *in[CHANNELS];
    float *out[CHANNELS], *latency;
    uint32_t block, waits; /* samples; a model that looks ahead waits for so many */
    float *rows;           /* inputs of one block, the channels of a sample side by side */
    float *ready;          /* outputs that wait for the host, likewise: at most two blocks and the wait */
    uint32_t n_ready;      /* samples */
} Convolver;

static void cleanup(LV2_Handle handle) {
    Convolver *self = handle;
    lw_stream_destroy(self->stream);
    lw_model_close(self->model);
    free(self->rows);
    free(self->ready);
    free(self);
}

/* A call of the library failed. */
static LV2_Handle failed(Convolver *self, const char *what) {
    fprintf(stderr, "longwave convolver: %s: %s\n", what, lw_last_error());
    cleanup(self);
    return NULL;
}

static LV2_Handle refused(Convolver *self, const char *why) {
    fprintf(stderr, "longwave convolver: %s\n", why);
    cleanup(self);
    return NULL;
}

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features) {
    (void)descriptor, (void)features;
    Convolver *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/convolver.lw", bundle) >= (int)sizeof path)
        return refused(self, "the path of the bundle is too long");
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1; /* the user installed the bundle */
    if (lw_model_open(path, &open, &self->model)) return failed(self, path);

    lw_stream_options how = LW_STREAM_OPTIONS_INIT;
    how.format = LW_F32;
    if (lw_stream_create(self->model, &how, &self->stream)) return failed(self, path);
    lw_model_info info = LW_MODEL_INFO_INIT;
    lw_input_info input = LW_INPUT_INFO_INIT;
    if (lw_model_get_info(self->model, &info) || lw_model_input(self->model, 0, &input))
        return failed(self, path);
    lw_output_info output = LW_OUTPUT_INFO_INIT;
    if (info.stream_outputs != 1 || lw_model_stream_output(self->model, 0, &output))
        return refused(self, "the model must have one output");
    if (input.width != CHANNELS || output.width != CHANNELS)
        return refused(self, "the model must have the channels of the plug-in");
    if (output.clock_num != 1 || output.clock_den != 1)
        return refused(self, "the model must have one row out for each row in");
    if (input.sample_rate && input.sample_rate != rate) {
        char why[160];
        snprintf(why, sizeof why,
                 "the model is for %u Hz, and the host runs at %.0f Hz: change the host's rate, or make the "
                 "model from a resampled response",
                 (unsigned)input.sample_rate, rate);
        return refused(self, why);
    }
    self->block = info.stream_block;
    self->waits = info.stream_delay;
    self->rows = calloc(self->block, CHANNELS * sizeof(float));
    self->ready = calloc((size_t)2 * self->block + self->waits, CHANNELS * sizeof(float));
    if (!self->rows || !self->ready) return refused(self, "no memory");
    return self;
}

static void connect_port(LV2_Handle handle, uint32_t port, void *data) {
    Convolver *self = handle;
    if (port < OUT) self->in[port] = data;
    else if (port < LATENCY) self->out[port - OUT] = data;
    else self->latency = data;
}

/* Silence until the first row comes. So there is always a sample for the host. */
static void activate(LV2_Handle handle) {
    Convolver *self = handle;
    lw_stream_reset(self->stream);
    self->n_ready = self->block - 1 + self->waits;
    memset(self->ready, 0, self->n_ready * CHANNELS * sizeof(float));
}

/* Samples from `first` on; n is at most one block. Calls no function of the system. */
static void convolve(Convolver *self, uint32_t first, uint32_t n) {
    for (uint32_t t = 0; t < n; t++)
        for (int c = 0; c < CHANNELS; c++) self->rows[t * CHANNELS + c] = self->in[c][first + t];
    size_t taken = 0;
    lw_stream_push(self->stream, self->rows, n, &taken);
    lw_stream_rows rows = LW_STREAM_ROWS_INIT;
    rows.data = self->ready + self->n_ready * CHANNELS;
    rows.capacity = ((size_t)2 * self->block + self->waits - self->n_ready) * CHANNELS;
    if (lw_stream_pull_rows(self->stream, &rows) == LW_OK) self->n_ready += (uint32_t)rows.rows;
    const int failed = self->n_ready < n; /* the stream: then silence */
    for (uint32_t t = 0; t < n; t++)
        for (int c = 0; c < CHANNELS; c++)
            self->out[c][first + t] = failed ? 0 : self->ready[t * CHANNELS + c];
    if (failed) return;
    self->n_ready -= n;
    memmove(self->ready, self->ready + n * CHANNELS, self->n_ready * CHANNELS * sizeof(float));
}

static void run(LV2_Handle handle, uint32_t n) {
    Convolver *self = handle;
    for (uint32_t done = 0; done < n;) {
        const uint32_t part = n - done < self->block ? n - done : self->block;
        convolve(self, done, part);
        done += part;
    }
    if (self->latency) *self->latency = (float)(self->block - 1 + self->waits);
}

static const LV2_Descriptor descriptor = {URI, instantiate, connect_port, activate, run, NULL, cleanup, NULL};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index) {
    return index == 0 ? &descriptor : NULL;
}
