/* A capture of Neural Amp Modeler, a .nam file: its weights, as the tensors of a shape that amp_shape.py
 * made. */
#ifndef CAPTURE_H
#define CAPTURE_H
#include "reason.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Capture Capture;
/* What a capture is for a shape. */
typedef struct {
    uint32_t rate, remembers; /* Hz, samples */
    void *weights;            /* a weights.safetensors, which the caller frees */
    size_t bytes;
} Fitted;

/* Of a container the largest model. NULL: refused, and `why` says why. Any bytes are safe. */
Capture *capture_parse(const char *bytes, size_t n, char why[REASON]);
Capture *capture_read(const char *path, char why[REASON]);
void capture_free(Capture *capture);
/* `map`: the text that amp_shape.py writes beside the shape. 0: the capture has another configuration, or
 * `why` is not empty. */
int capture_fits(const Capture *capture, const char *map, size_t n, Fitted *fitted, char why[REASON]);
/* Such as "WaveNet with 13802 weights". Belongs to the capture. */
const char *capture_text(const Capture *capture);

#ifdef __cplusplus
}
#endif
#endif
