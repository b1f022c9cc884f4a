/* The shapes in a bundle: models of `longwave compile --pack`, which take other weights (docs/pack.md). */
#ifndef SHAPE_H
#define SHAPE_H
#include "exchange.h"

/* A bundle, and the names of those of its files that describe shapes. */
typedef struct {
    char *bundle;
    double rate; /* of the host */
    char **names;
    size_t n;
} Shapes;

/* How a plug-in names its shapes. */
typedef struct {
    const char *pattern; /* for people */
    int (*takes)(const char *name);
    int (*order)(const char *a, const char *b);
} Naming;

/* All such files of the bundle, in order. NULL: `reason` says why. */
Shapes *shapes_open(const char *bundle, double rate, const Naming *naming, char reason[REASON]);
void shapes_close(void *shapes);

/* A whole file of the bundle, which the caller frees. NULL: `reason` says why. */
void *shape_read(const char *bundle, const char *name, size_t *bytes, char reason[REASON]);
/* The shape with other weights: a weights.safetensors. NULL: `reason` says why. */
lw_model *shape_pack(const void *shape, size_t shape_bytes, const void *weights, size_t weights_bytes,
                     char reason[REASON]);

#endif
