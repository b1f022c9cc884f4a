/* An LV2 plug-in that plays the audio in a room: it convolves with the response in a sound file, which the
 * user chooses while it plays. In the bundle are shapes: models of a long convolution, compiled with
 * `longwave compile --pack`, each for so many samples as its name says (room-12000.lw). lw_pack puts the
 * response into the shortest one that takes it, without a compiler. Each pair of channels has a stream.
 */
#include "exchange.h"
#include "response.h"
#include "shape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Samples of the shape in the file room-SAMPLES.lw; 0: another file. */
static size_t length_of(const char *name) {
    size_t length;
    int read = 0;
    return sscanf(name, "room-%8zu.lw%n", &length, &read) == 1 && read && !name[read] ? length : 0;
}
static int is_shape(const char *name) { return length_of(name) > 0; }
static int by_length(const char *a, const char *b) {
    return (length_of(a) > length_of(b)) - (length_of(a) < length_of(b));
}

static void *room_open(const char *bundle, double rate, char reason[REASON]) {
    static const Naming naming = {"room-SAMPLES.lw", is_shape, by_length};
    return shapes_open(bundle, rate, &naming, reason);
}

/* A weights.safetensors with the taps, the oldest first, behind zeros up to `length`. */
static void *weights_of(const float *taps, size_t n, size_t length, size_t *bytes) {
    char header[256];
    int size = snprintf(header, sizeof header,
                        "{\"room.weight\":{\"dtype\":\"F32\",\"shape\":[1,1,%zu],\"data_offsets\":[0,%zu]}}",
                        length, length * sizeof(float));
    while (size % 8) header[size++] = ' ';
    *bytes = 8 + (size_t)size + length * sizeof(float);
    uint8_t *made = calloc(1, *bytes);
    if (!made) return NULL;
    made[0] = (uint8_t)size; /* the rest of the 8 bytes is 0 */
    memcpy(made + 8, header, (size_t)size);
    float *last = (float *)(made + *bytes) - 1;
    for (size_t t = 0; t < n; t++) *(last - t) = taps[t];
    return made;
}

/* The shape with these taps. NULL: `reason` says why. */
static lw_model *model_of(const void *shape, size_t shape_bytes, const float *taps, size_t n, size_t length,
                          char reason[REASON]) {
    size_t bytes;
    void *weights = weights_of(taps, n, length, &bytes);
    if (!weights) return snprintf(reason, REASON, "no memory for the response"), NULL;
    lw_model *model = shape_pack(shape, shape_bytes, weights, bytes, reason);
    free(weights);
    return model;
}

/* Lines of each channel of the response. */
static int add_lines(Voice *voice, const lw_model *model, int channels, int of, int c, char reason[REASON]) {
    int status = 0;
    if (of == 4) status = voice_add(voice, model, c / 2, c % 2);
    else if (of == 2) status = voice_add(voice, model, c, c);
    else
        for (int each = 0; each < channels && !status; each++) status = voice_add(voice, model, each, each);
    if (status) snprintf(reason, REASON, "%s: %s", lw_status_text(status), lw_last_error());
    return !status;
}

static Voice *voice_of(const Shapes *shapes, int channels, const Response *response, const char *path,
                       char reason[REASON]) {
    if (response->channels > 1 && channels == 1)
        return snprintf(reason, REASON, "has %d channels, and this plug-in has one: use the stereo one",
                        response->channels),
               NULL;
    size_t i = 0;
    while (length_of(shapes->names[i]) < response->samples) i++; /* response_read has refused longer ones */
    const size_t length = length_of(shapes->names[i]);
    size_t bytes;
    void *shape = shape_read(shapes->bundle, shapes->names[i], &bytes, reason);
    if (!shape) return NULL;
    Voice *voice = voice_create(path, (uint32_t)length);
    int good = voice != NULL;
    for (int c = 0; c < response->channels && good; c++) {
        const float *taps = response->taps + (size_t)c * response->samples;
        lw_model *model = model_of(shape, bytes, taps, response->samples, length, reason);
        good = model && add_lines(voice, model, channels, response->channels, c, reason);
        lw_model_close(model); /* its streams keep it */
    }
    free(shape);
    if (good) return voice;
    voice_destroy(voice);
    return NULL;
}

static Voice *room_load(void *stock, int channels, const char *path, char reason[REASON]) {
    const Shapes *shapes = stock;
    Response response;
    if (!response_read(path, shapes->rate, length_of(shapes->names[shapes->n - 1]), &response, reason))
        return NULL;
    Voice *voice = voice_of(shapes, channels, &response, path, reason);
    free(response.taps);
    return voice;
}

#define KIND(suffix, n)                                                                                      \
    {                                                                                                        \
        .uri = "urn:longwave:room" suffix,                                                                   \
        .file = "urn:longwave:room#response",                                                                \
        .initial = "default.wav",                                                                            \
        .channels = n,                                                                                       \
        .fade = FADE_INPUTS,                                                                                 \
        .open = room_open,                                                                                   \
        .close = shapes_close,                                                                               \
        .load = room_load,                                                                                   \
    }
static const Kind kinds[] = {KIND("", 1), KIND("-stereo", 2)};

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features) {
    return exchange_create(&kinds[strcmp(descriptor->URI, kinds[0].uri) != 0], rate, bundle, features);
}

static const LV2_Descriptor descriptors[] = {
    {"urn:longwave:room", instantiate, exchange_connect, exchange_activate, exchange_run, NULL,
     exchange_cleanup, exchange_extension},
    {"urn:longwave:room-stereo", instantiate, exchange_connect, exchange_activate, exchange_run, NULL,
     exchange_cleanup, exchange_extension},
};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index) {
    return index < sizeof descriptors / sizeof *descriptors ? &descriptors[index] : NULL;
}
