/* The shapes in a bundle: models of `longwave compile --pack`, which take other weights (docs/pack.md). */
#ifndef SHAPE_H
#define SHAPE_H
#include "exchange.h"

/* A whole file of the bundle, which the caller frees. NULL: `reason` says why. */
void *shape_read(const char *bundle, const char *name, size_t *bytes, char reason[REASON]);
/* The shape with other weights: a weights.safetensors. NULL: `reason` says why. */
lw_model *shape_pack(const void *shape, size_t shape_bytes, const void *weights, size_t weights_bytes,
                     char reason[REASON]);

#endif
