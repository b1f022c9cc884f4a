#include "voice.h"
#include <stdlib.h>
#include <string.h>

Voice *voice_create(const char *path, uint32_t samples) {
    Voice *voice = calloc(1, sizeof *voice);
    if (!voice) return NULL;
    voice->samples = samples;
    voice->path = strdup(path);
    if (voice->path) return voice;
    free(voice);
    return NULL;
}

/* Silence until the first row comes. So there is always a sample for the host. */
static void line_reset(Line *line) {
    lw_stream_reset(line->stream);
    line->n_ready = VOICE_LATE;
    memset(line->ready, 0, sizeof line->ready);
}

lw_status voice_add(Voice *voice, const lw_model *model, int from, int to) {
    lw_stream_options how = LW_STREAM_OPTIONS_INIT;
    how.format = LW_F32;
    how.block = VOICE_BLOCK;
    how.no_larger_blocks = 1;
    Line *line = &voice->lines[voice->n_lines];
    const lw_status status = lw_stream_create(model, &how, &line->stream);
    if (status) return status;
    line->from = from;
    line->to = to;
    line_reset(line);
    voice->n_lines++;
    return LW_OK;
}

void voice_destroy(Voice *voice) {
    if (!voice) return;
    for (int i = 0; i < voice->n_lines; i++) lw_stream_destroy(voice->lines[i].stream);
    free(voice->path);
    free(voice);
}

void voice_reset(Voice *voice) {
    for (int i = 0; i < voice->n_lines; i++) line_reset(&voice->lines[i]);
}

void voice_run(Voice *voice, float in[VOICE_CHANNELS][VOICE_BLOCK], float out[VOICE_CHANNELS][VOICE_BLOCK],
               const float *gain, uint32_t n) {
    for (int i = 0; i < voice->n_lines; i++) {
        Line *line = &voice->lines[i];
        size_t taken = 0;
        lw_stream_push(line->stream, in[line->from], n, &taken);
        lw_stream_rows rows = LW_STREAM_ROWS_INIT;
        rows.data = line->ready + line->n_ready;
        rows.capacity = sizeof line->ready / sizeof(float) - line->n_ready;
        if (lw_stream_pull_rows(line->stream, &rows) == LW_OK) line->n_ready += (uint32_t)rows.rows;
        if (line->n_ready < n) continue; /* the stream has failed: silence */
        for (uint32_t t = 0; t < n; t++) out[line->to][t] += gain[t] * line->ready[t];
        line->n_ready -= n;
        memmove(line->ready, line->ready + n, line->n_ready * sizeof(float));
    }
}
