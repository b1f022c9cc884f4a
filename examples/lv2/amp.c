/* An LV2 plug-in that plays a guitar through captures of Neural Amp Modeler, which the user chooses while it
 * plays. In the bundle are shapes, compiled with `longwave compile --pack`: NAME.lw, and NAME.json as
 * amp_shape.py writes it. A capture is for the shape with its configuration, and lw_pack puts its weights
 * there without a compiler.
 */
#include "capture.h"
#include "exchange.h"
#include "shape.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 64, NAME = 64 };

typedef struct {
    char *bundle;
    double rate;
    char names[SHAPES][NAME]; /* without an ending */
    int n;
} Shapes;

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static void shapes_close(void *stock) {
    Shapes *shapes = stock;
    free(shapes->bundle);
    free(shapes);
}

static void *shapes_open(const char *bundle, double rate, char reason[REASON]) {
    Shapes *shapes = calloc(1, sizeof *shapes);
    if (!shapes) return NULL;
    shapes->bundle = strdup(bundle);
    shapes->rate = rate;
    DIR *folder = opendir(bundle);
    for (struct dirent *entry; folder && (entry = readdir(folder)) && shapes->n < SHAPES;) {
        const char *ending = strrchr(entry->d_name, '.');
        if (!ending || strcmp(ending, ".json") || ending - entry->d_name >= NAME) continue;
        memcpy(shapes->names[shapes->n++], entry->d_name, (size_t)(ending - entry->d_name));
    }
    if (folder) closedir(folder);
    qsort(shapes->names, (size_t)shapes->n, NAME, by_name);
    if (shapes->bundle && shapes->n) return shapes;
    snprintf(reason, REASON, "has no shape NAME.lw with NAME.json");
    shapes_close(shapes);
    return NULL;
}

/* Which shape takes the capture. -1: none, and `reason` says why. */
static int fitting(const Shapes *shapes, const Capture *capture, Fitted *fitted, char reason[REASON]) {
    char name[NAME + 8];
    int length =
        snprintf(reason, REASON, "is a %s: its configuration is none of the bundle,", capture_text(capture));
    for (int i = 0; i < shapes->n; i++) {
        char why[REASON] = "";
        size_t bytes;
        snprintf(name, sizeof name, "%s.json", shapes->names[i]);
        char *map = shape_read(shapes->bundle, name, &bytes, why);
        const int fits = map && capture_fits(capture, map, bytes, fitted, why);
        free(map);
        if (fits) return i;
        if (why[0]) return memcpy(reason, why, REASON), -1;
        if (length < REASON)
            length += snprintf(reason + length, (size_t)(REASON - length), " %s", shapes->names[i]);
    }
    return -1;
}

static Voice *voice_of(const Shapes *shapes, int i, const Fitted *fitted, const char *path,
                       char reason[REASON]) {
    if (fitted->rate != shapes->rate) {
        snprintf(reason, REASON, "the capture is for %u Hz, and the host runs at %.0f Hz",
                 (unsigned)fitted->rate, shapes->rate);
        return NULL;
    }
    char name[NAME + 4];
    size_t bytes;
    snprintf(name, sizeof name, "%s.lw", shapes->names[i]);
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
    const int i = fitting(shapes, capture, &fitted, reason);
    Voice *voice = i < 0 ? NULL : voice_of(shapes, i, &fitted, path, reason);
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
    .open = shapes_open,
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
