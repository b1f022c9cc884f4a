/* generate MODEL.lw COUNT STATE [PROMPT]: COUNT bytes of text. Where the file STATE is, it goes on
 * from there; PROMPT comes behind it. STATE is written anew at the end, so that the next call goes
 * on, on any machine.
 *
 *     generate text.lw 200 it.state "It was"
 *     generate text.lw 200 it.state
 */
#include "longwave/generator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what, lw_status status) {
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    return 1;
}

/* The whole file, or NULL where there is none. */
static void *read_file(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*n + 1);
    if (bytes && fread(bytes, 1, *n, file) != *n) *n = 0; /* the library says what is wrong with it */
    fclose(file);
    return bytes;
}

static lw_status write_state(const lw_generator *generator, const char *path) {
    size_t n;
    lw_status status = lw_generator_save(generator, NULL, 0, &n);
    if (status) return status;
    void *bytes = malloc(n);
    FILE *file = fopen(path, "wb");
    status = bytes && file ? lw_generator_save(generator, bytes, n, &n) : LW_IO;
    if (!status && fwrite(bytes, 1, n, file) != n) status = LW_IO;
    if (file && fclose(file) != 0) status = LW_IO;
    free(bytes);
    return status;
}

/* Bytes are the ids of this model. */
static lw_status read_prompt(lw_generator *generator, const char *text) {
    const size_t n = strlen(text);
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    if (!ids) return LW_NO_MEMORY;
    for (size_t i = 0; i < n; i++) ids[i] = (unsigned char)text[i];
    const lw_status status = lw_generator_prompt(generator, ids, n);
    free(ids);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: generate MODEL.lw COUNT STATE [PROMPT]\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) return failed(argv[1], status);
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    if (input.kind == LW_INPUT_TOKENS && input.vocabulary != 256)
        return fprintf(stderr, "%s: its tokens are not bytes\n", argv[1]), 1;

    lw_stream_options stream_options = LW_STREAM_OPTIONS_INIT;
    stream_options.format = LW_I32;
    stream_options.block = 1; /* writes; the larger entries read the prompt */
    lw_stream *stream;
    status = lw_stream_create(model, &stream_options, &stream);
    if (status) return failed("lw_stream_create", status);

    lw_generator_options how = LW_GENERATOR_OPTIONS_INIT;
    how.seed = 1;
    how.temperature = 0.8f;
    how.top_p = 0.95f;
    lw_generator *generator;
    status = lw_generator_create(stream, &how, &generator);
    if (status) return failed("lw_generator_create", status);

    size_t n = 0;
    void *state = read_file(argv[3], &n);
    if (state && (status = lw_generator_load(generator, state, n))) return failed(argv[3], status);
    free(state);
    if (argc > 4 && (status = read_prompt(generator, argv[4]))) return failed("lw_generator_prompt", status);

    lw_generator_token token = LW_GENERATOR_TOKEN_INIT;
    for (long left = atol(argv[2]); left > 0; left--) { /* nothing in here allocates */
        status = lw_generator_next(generator, &token);
        if (status) return failed("lw_generator_next", status);
        putchar(token.id);
        fflush(stdout);
    }
    status = write_state(generator, argv[3]);
    if (status) return failed(argv[3], status);
    lw_generator_destroy(generator);
    lw_stream_destroy(stream);
    lw_model_close(model);
    return 0;
}
