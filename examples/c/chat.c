/* chat MODEL.lw STATE [TOKENIZER.json]: a text loop with stop words and a saved state.
 *
 * Each line of standard input is appended to the text. The model then writes until a stop word or
 * 200 tokens. STATE is read at the start if it exists, and written at the end: the next call
 * continues the same text. Without a tokenizer file, the model must read bytes (256 ids).
 */
#include "longwave/generator.h"
#include "longwave/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_bytes = 4096, most_tokens = 200 };
enum { n_stop_words = 2 };
static const char *const stop_words[n_stop_words] = {"\n\n", "THE END"};

static void must(const char *what, lw_status status) {
    if (status == LW_OK) return;
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    exit(1);
}

static lw_stream *open_stream(const lw_model *model) {
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.format = LW_I32;
    options.block = 1; /* writes; the larger entries read prompts */
    lw_stream *stream;
    must("lw_stream_create", lw_stream_create(model, &options, &stream));
    return stream;
}

static lw_generator *open_generator(lw_stream *stream, const lw_tokenizer *tokenizer) {
    static int32_t ids[n_stop_words][64];
    lw_stop_sequence stops[n_stop_words]; /* read by lw_generator_create only */
    for (int i = 0; i < n_stop_words; i++) {
        stops[i].ids = ids[i];
        must("tokenizer: stop word",
             lw_tokenizer_encode(tokenizer, stop_words[i], strlen(stop_words[i]), ids[i], 64, &stops[i].n));
    }
    lw_generator_options options = LW_GENERATOR_OPTIONS_INIT;
    options.seed = 1;
    options.temperature = 0.8f;
    options.top_p = 0.95f;
    options.stops = stops, options.n_stops = n_stop_words;
    lw_generator *generator;
    must("lw_generator_create", lw_generator_create(stream, &options, &generator));
    return generator;
}

/* 0: there is no state, and a new text begins. */
static int load_state(lw_generator *generator, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    fseek(file, 0, SEEK_END);
    size_t n = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(n + 1);
    if (!bytes || fread(bytes, 1, n, file) != n) must(path, LW_IO);
    fclose(file);
    must(path, lw_generator_load(generator, bytes, n));
    free(bytes);
    return 1;
}

static void save_state(const lw_generator *generator, const char *path) {
    size_t n;
    must("lw_generator_save", lw_generator_save(generator, NULL, 0, &n));
    void *bytes = malloc(n);
    FILE *file = fopen(path, "wb");
    if (!bytes || !file) must(path, LW_IO);
    must("lw_generator_save", lw_generator_save(generator, bytes, n, &n));
    if (fwrite(bytes, 1, n, file) != n || fclose(file)) must(path, LW_IO);
    free(bytes);
}

/* Writes until a stop word or most_tokens. Ids that may begin a stop word are held back. */
static void answer(lw_generator *generator, const lw_tokenizer *tokenizer) {
    static int32_t ids[most_tokens];
    size_t size, shown = 0;
    const char *text;
    lw_text_decoder *decoder;
    must("tokenizer: decoder", lw_text_decoder_create(tokenizer, &decoder));
    lw_generator_token token = LW_GENERATOR_TOKEN_INIT;
    for (size_t n = 1; n <= most_tokens && !token.stop; n++) {
        must("lw_generator_next", lw_generator_next(generator, &token));
        ids[n - 1] = token.id;
        const size_t held = n < most_tokens || token.stop ? token.held : 0; /* nothing follows the last one */
        for (; shown + held < n; shown++) {
            must("tokenizer: decode", lw_text_decoder_push(decoder, ids[shown], &text, &size));
            fwrite(text, 1, size, stdout);
        }
        fflush(stdout);
    }
    must("tokenizer: decode", lw_text_decoder_finish(decoder, &text, &size));
    fwrite(text, 1, size, stdout);
    putchar('\n');
    lw_text_decoder_destroy(decoder);
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: chat MODEL.lw STATE [TOKENIZER.json] < lines\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* our own file */
    lw_model *model;
    must(argv[1], lw_model_open(argv[1], &options, &model));
    lw_tokenizer *tokenizer;
    must("tokenizer",
         argc > 3 ? lw_tokenizer_open(argv[3], NULL, &tokenizer) : lw_tokenizer_open_bytes(&tokenizer));
    lw_stream *stream = open_stream(model);
    lw_generator *generator = open_generator(stream, tokenizer);
    /* Special tokens of the tokenizer, as BOS, stand before the first line of a new text. */
    uint32_t special = load_state(generator, argv[2]) ? 0 : LW_TEXT_BEGIN;
    static char line[most_bytes];
    static int32_t ids[2 * most_bytes]; /* room for one id per byte, and added spaces */
    for (size_t n; fgets(line, sizeof line, stdin); special = 0) {
        must("tokenizer: line",
             lw_tokenizer_encode_special(tokenizer, line, strlen(line), special, ids, 2 * most_bytes, &n));
        must("lw_generator_prompt", lw_generator_prompt(generator, ids, n));
        answer(generator, tokenizer);
    }
    save_state(generator, argv[2]);
    lw_generator_destroy(generator), lw_stream_destroy(stream), lw_tokenizer_close(tokenizer),
        lw_model_close(model);
    return 0;
}
