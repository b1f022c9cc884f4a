/* All rows of a stream, and its state in the middle: of a model that the program contains, or of a
 * compiled file.
 *
 *   rows INPUT ROWS STATE [LOAD]          compiled with -DMODEL=SYMBOL -DPREFIX(x)=..., and the
 *                                         model's header
 *   rows INPUT ROWS STATE LOAD|- WEIGHTS  the same with -DWEIGHTS: the weights are a file beside
 *                                         the program
 *   rows INPUT ROWS STATE LOAD|- FILE.lw  compiled without
 *
 * INPUT has float32 rows, or int32 ids. ROWS gets output, width, row (64 bits) and values of each
 * row. STATE gets the state after half of the input, in the middle of a block. With LOAD the stream
 * begins with that state, and there.
 */
#include <longwave/longwave.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, lw_last_error());
    exit(1);
}

static unsigned char *read_all(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) perror(path), exit(1);
    *n = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*n + 1);
    if (!bytes || fread(bytes, 1, *n, file) != *n) perror(path), exit(1);
    fclose(file);
    return bytes;
}

static FILE *rows;
static void pull(lw_stream *stream) {
    lw_stream_row row = LW_STREAM_ROW_INIT;
    while (lw_stream_pull(stream, &row) == LW_OK) {
        fwrite(&row.index, 4, 1, rows);
        fwrite(&row.width, 4, 1, rows);
        fwrite(&row.row, 8, 1, rows);
        fwrite(row.data, 4, row.width, rows);
    }
}

#ifdef MODEL
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
static _Alignas(64) unsigned char model_memory[JOIN(PREFIX, _MODEL_BYTES)],
    stream_memory[JOIN(PREFIX, _STREAM_BYTES)];
static lw_model *open_model(int argc, char **argv) {
    lw_model *model;
#ifdef WEIGHTS
    static _Alignas(64) unsigned char weights[JOIN(PREFIX, _WEIGHTS_BYTES)];
    FILE *file = argc < 6 ? NULL : fopen(argv[5], "rb");
    if (!file || fread(weights, 1, sizeof weights, file) != sizeof weights) perror("weights"), exit(1);
    fclose(file);
    if (lw_model_open_static_weights(&MODEL, weights, sizeof weights, model_memory, sizeof model_memory,
                                     &model))
        failed("open");
#else
    (void)argc, (void)argv;
    if (lw_model_open_static(&MODEL, model_memory, sizeof model_memory, &model)) failed("open");
#endif
    return model;
}
static lw_stream *make_stream(const lw_model *model, const lw_stream_options *options) {
    lw_stream *stream;
    if (lw_stream_init(model, options, stream_memory, sizeof stream_memory, &stream)) failed("stream");
    return stream;
}
#else
static lw_model *open_model(int argc, char **argv) {
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1;
    lw_model *model;
    if (argc < 6 || lw_model_open(argv[5], &options, &model)) failed("open");
    return model;
}
static lw_stream *make_stream(const lw_model *model, const lw_stream_options *options) {
    lw_stream *stream;
    if (lw_stream_create(model, options, &stream)) failed("stream");
    return stream;
}
#endif

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    lw_model *model = open_model(argc, argv);
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
    lw_stream *stream = make_stream(model, &options);
    const size_t tick = input.kind == LW_INPUT_TOKENS ? 4 : 4 * (size_t)input.width;
    size_t bytes, state_bytes;
    unsigned char *samples = read_all(argv[1], &bytes);
    const size_t n = bytes / tick, half = n / 2 + 1;
    size_t at = 0;
    if (argc > 4 && strcmp(argv[4], "-") != 0) {
        unsigned char *state = read_all(argv[4], &state_bytes);
        if (lw_stream_load(stream, state, state_bytes)) failed("load");
        free(state);
        at = half;
    }
    rows = fopen(argv[2], "wb");
    if (!rows) return perror(argv[2]), 1;
    for (size_t taken; at < n; at += taken) {
        const size_t until = at < half ? half : n, piece = until - at < 113 ? until - at : 113;
        if (lw_stream_push(stream, samples + at * tick, piece, &taken)) failed("push");
        pull(stream);
        if (at + taken != half || at >= half) continue;
        if (lw_stream_save(stream, NULL, 0, &state_bytes)) failed("save");
        unsigned char *state = malloc(state_bytes);
        if (!state || lw_stream_save(stream, state, state_bytes, &state_bytes)) failed("save");
        FILE *file = fopen(argv[3], "wb");
        if (!file || fwrite(state, 1, state_bytes, file) != state_bytes || fclose(file))
            return perror(argv[3]), 1;
        free(state);
    }
    if (lw_stream_finish(stream)) failed("finish");
    pull(stream);
    lw_stream_destroy(stream);
    lw_model_close(model);
    free(samples);
    return fclose(rows) == 0 ? 0 : 1;
}
