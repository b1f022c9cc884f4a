/* An LV2 plug-in that plays a guitar through captures of Neural Amp Modeler, which the user chooses while it
 * plays. In the bundle are shapes, compiled with `longwave compile --pack`: NAME.lw, and NAME.json as
 * amp_shape.py writes it. A capture is for the shape with its configuration, and lw_pack puts its weights
 * there without a compiler.
 */
#include "capture.h"
#include "exchange.h"
#include "shape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A shape is named by its NAME.json. */
static int describes(const char *name) {
    const size_t length = strlen(name);
    return length > 5 && !strcmp(name + length - 5, ".json");
}

static void *amp_open(const char *bundle, double rate, char reason[REASON]) {
    static const Naming naming = {"NAME.lw with NAME.json", describes, strcmp};
    return shapes_open(bundle, rate, &naming, reason);
}

/* The NAME.json of the shape that takes the capture. NULL: none, and `reason` says why. */
static const char *fitting(const Shapes *shapes, const Capture *capture, Fitted *fitted,
                           char reason[REASON]) {
    int length =
        snprintf(reason, REASON, "is a %s: its configuration is none of the bundle,", capture_text(capture));
    for (size_t i = 0; i < shapes->n; i++) {
        char why[REASON] = "";
        size_t bytes;
        char *map = shape_read(shapes->bundle, shapes->names[i], &bytes, why);
        const int fits = map && capture_fits(capture, map, bytes, fitted, why);
        free(map);
        if (fits) return shapes->names[i];
        if (why[0]) return memcpy(reason, why, REASON), NULL;
        if (length < REASON)
            length += snprintf(reason + length, (size_t)(REASON - length), " %.*s",
                               (int)strlen(shapes->names[i]) - 5, shapes->names[i]);
    }
    return NULL;
}

static Voice *voice_of(const Shapes *shapes, const char *map, const Fitted *fitted, const char *path,
                       char reason[REASON]) {
    if (fitted->rate != shapes->rate) {
        snprintf(reason, REASON, "the capture is for %u Hz, and the host runs at %.0f Hz",
                 (unsigned)fitted->rate, shapes->rate);
        return NULL;
    }
    char name[256 + 4]; /* names of files have at most 255 bytes */
    size_t bytes;
    snprintf(name, sizeof name, "%.*s.lw", (int)strlen(map) - 5, map);
    void *shape = shape_read(shapes->bundle, name, &bytes, reason);
    lw_model *model = shape ? shape_pack(shape, bytes, fitted->weights, fitted->bytes, reason) : NULL;
    free(shape);
    if (!model) return NULL;
    Voice *voice = voice_create(path, fitted->remembers);
    const lw_status status = voice ? voice_add(voice, model, 0, 0) : LW_NO_MEMORY;
    if (status) snprintf(reason, REASON, "%s: %s", lw_status_text(status), lw_last_error());
    lw_model_close(model); /* its stream keeps it */
    if (!status) return voice;
    voice_destroy(voice);
    return NULL;
}

static Voice *amp_load(void *stock, int channels, const char *path, char reason[REASON]) {
    (void)channels; /* one */
    const Shapes *shapes = stock;
    Capture *capture = capture_read(path, reason);
    if (!capture) return NULL;
    Fitted fitted = {0};
    const char *map = fitting(shapes, capture, &fitted, reason);
    Voice *voice = map ? voice_of(shapes, map, &fitted, path, reason) : NULL;
    free(fitted.weights);
    capture_free(capture);
    return voice;
}

static const Kind kind = {
    .uri = "urn:longwave:amp",
    .file = "urn:longwave:amp#capture",
    .initial = "default.nam",
    .channels = 1,
    .fade = FADE_OUTPUTS,
    .open = amp_open,
    .close = shapes_close,
    .load = amp_load,
};

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features) {
    (void)descriptor;
    return exchange_create(&kind, rate, bundle, features);
}

static const LV2_Descriptor descriptor = {
    "urn:longwave:amp", instantiate, exchange_connect, exchange_activate,
    exchange_run,       NULL,        exchange_cleanup, exchange_extension,
};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index) {
    return index == 0 ? &descriptor : NULL;
}
