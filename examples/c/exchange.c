/* exchange SHAPE.lw WEIGHTS.safetensors: goes from the weights of a model to others without a click.
 * Reads signed 16-bit samples and writes floats. In the middle of the input it packs the other weights
 * and fades from the old stream to the new one over 1,024 samples.
 *
 *     longwave compile room -o room.lw --stream --block 64 --pack
 *     exchange room.lw hall.safetensors < dry.raw > wet.f32
 */
#include "longwave/pack.h"
#include <stdio.h>
#include <stdlib.h>

enum { block = 64, fade = 1024, most = 1 << 20 };

static void die(const char *what, lw_status status) {
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    exit(1);
}

static void *read_file(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) perror(path), exit(3);
    *n = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*n);
    if (!bytes || fread(bytes, 1, *n, file) != *n) perror(path), exit(3);
    fclose(file);
    return bytes;
}

static lw_model *open_model(const void *bytes, size_t n) {
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we compiled the shape ourselves */
    lw_model *model;
    lw_status status = lw_model_open_memory(bytes, n, &options, &model);
    if (status) die("lw_model_open_memory", status);
    return model;
}

static lw_stream *open_stream(const lw_model *model) {
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.format = LW_S16;
    options.block = block;
    lw_stream *stream;
    lw_status status = lw_stream_create(model, &options, &stream);
    if (status) die("lw_stream_create", status);
    return stream;
}

/* Pushes a block and copies its rows: one float for each sample. Real-time safe. */
static void run(lw_stream *stream, const short *in, float *out) {
    size_t taken = 0;
    lw_stream_row row = LW_STREAM_ROW_INIT;
    lw_stream_push(stream, in, block, &taken);
    for (int i = 0; i < block && lw_stream_pull(stream, &row) == LW_OK; i++) out[i] = row.data[0];
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: exchange SHAPE.lw WEIGHTS.safetensors\n"), 2;
    size_t shape_bytes, weights_bytes, new_bytes;
    void *shape = read_file(argv[1], &shape_bytes), *weights = read_file(argv[2], &weights_bytes);
    static short samples[most];
    const size_t blocks = fread(samples, sizeof *samples, most, stdin) / block;

    lw_model *old_model = open_model(shape, shape_bytes), *new_model = NULL;
    lw_stream *old_stream = open_stream(old_model), *new_stream = NULL;
    float out[block], faded[block];
    for (size_t b = 0; b < blocks; b++) {
        if (b == blocks / 2) {
            /* A plug-in does this in another thread: it takes milliseconds and memory. */
            lw_open_options open = LW_OPEN_OPTIONS_INIT;
            open.allow_unsigned_code = 1;
            lw_pack_options options = LW_PACK_OPTIONS_INIT;
            options.open = &open;
            void *packed;
            lw_status status =
                lw_pack(shape, shape_bytes, weights, weights_bytes, &options, NULL, &packed, &new_bytes);
            if (status) die("lw_pack", status);
            new_model = open_model(packed, new_bytes);
            lw_pack_free(packed);
            new_stream = open_stream(new_model);
            /* The new stream takes over the past of the old one, so it does not begin with silence. */
            size_t n;
            if ((status = lw_stream_save(old_stream, NULL, 0, &n))) die("lw_stream_save", status);
            void *state = malloc(n);
            if (!state) return 1;
            if ((status = lw_stream_save(old_stream, state, n, &n))) die("lw_stream_save", status);
            if ((status = lw_stream_load_shape(new_stream, state, n))) die("lw_stream_load_shape", status);
            free(state);
        }
        /* From here on nothing allocates. */
        const size_t since = (b - blocks / 2) * block;
        if (!new_stream || since < fade) run(old_stream, samples + b * block, out);
        if (new_stream) run(new_stream, samples + b * block, faded);
        for (int i = 0; new_stream && i < block; i++) {
            const float part = since + (size_t)i < fade ? (float)(since + (size_t)i) / fade : 1;
            out[i] = part < 1 ? (1 - part) * out[i] + part * faded[i] : faded[i];
        }
        fwrite(out, sizeof *out, block, stdout);
    }
    lw_stream_destroy(old_stream);
    lw_model_close(old_model);
    if (new_stream) lw_stream_destroy(new_stream);
    if (new_model) lw_model_close(new_model);
    free(shape);
    free(weights);
    return 0;
}
