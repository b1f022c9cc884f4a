/* A voice: the models that one file makes, such as the response of a room, for blocks of any length.
 * A stream computes whole blocks, and hosts ask for any number of samples. So each line of a voice is
 * late by one block less one sample. */
#ifndef VOICE_H
#define VOICE_H
#include <longwave/longwave.h>

enum { VOICE_BLOCK = 64, VOICE_CHANNELS = 2, VOICE_LINES = 4, VOICE_LATE = VOICE_BLOCK - 1 };

/* A stream from one channel to another. */
typedef struct {
    lw_stream *stream;
    int from, to;
    uint32_t n_ready;
    float ready[3 * VOICE_BLOCK]; /* outputs that wait for the host */
} Line;

typedef struct Voice {
    char *path;       /* the file, as the host named it */
    uint32_t samples; /* that it remembers: so long its tail rings, or it warms up */
    int n_lines;
    Line lines[VOICE_LINES];
    struct Voice *link; /* of the list it is in */
} Voice;

/* `path` is copied. NULL: no memory. */
Voice *voice_create(const char *path, uint32_t samples);
/* Adds a line. The stream keeps the model. A failure: lw_last_error says why. */
lw_status voice_add(Voice *voice, const lw_model *model, int from, int to);
void voice_destroy(Voice *voice);

/* These two neither allocate nor lock. */
void voice_reset(Voice *voice);
/* Adds n samples, at most VOICE_BLOCK, times `gain` to the outputs. */
void voice_run(Voice *voice, float in[VOICE_CHANNELS][VOICE_BLOCK], float out[VOICE_CHANNELS][VOICE_BLOCK],
               const float *gain, uint32_t n);

#endif
