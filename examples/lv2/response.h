/* The impulse response of a room, from a sound file. */
#ifndef RESPONSE_H
#define RESPONSE_H
#include "reason.h"
#include <stddef.h>

typedef struct {
    int channels;   /* 1, 2 or 4 */
    size_t samples; /* of a channel */
    float *taps;    /* channel after channel */
} Response;

/* At `rate`, of at most `most` samples. 0: refused, and `reason` says why. The caller frees the taps. */
int response_read(const char *path, double rate, size_t most, Response *response, char reason[REASON]);

#endif
