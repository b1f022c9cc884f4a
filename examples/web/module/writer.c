/* A byte-level language model for a page: the page writes a prompt to prompt_bytes(), calls prompt,
 * and takes one byte per call of next. package/writer.js calls it. */
#include "module.h"
#include <longwave/generator.h>

/* Besides the model and its stream: one row of logits and the ids that penalties count. */
enum { generator_bytes = 16384 };
static _Alignas(64) unsigned char memory[SIZE(_MODEL_BYTES) + SIZE(_STREAM_BYTES) + generator_bytes];
static int32_t ids[8192];
static unsigned char text[sizeof ids / sizeof *ids];
static lw_model *model;
static lw_stream *stream;
static lw_generator *generator;

EXPORT(open) int open_(void) {
    const lw_status status = open_model(memory, sizeof memory, &model);
    if (status) return status;
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.format = LW_I32;
    options.block = 1;
    return lw_stream_create(model, &options, &stream);
}
EXPORT(prompt_bytes) unsigned char *prompt_bytes(void) { return text; }
EXPORT(prompt_capacity) size_t prompt_capacity(void) { return sizeof text; }

/* Begins a text: n bytes of prompt. */
EXPORT(prompt) int prompt(size_t n, float temperature, float top_p, double seed) {
    lw_generator_destroy(generator);
    generator = NULL;
    lw_generator_options options = LW_GENERATOR_OPTIONS_INIT;
    options.temperature = temperature;
    options.top_p = top_p;
    options.seed = (uint64_t)seed;
    lw_status status = lw_stream_reset(stream);
    if (!status) status = lw_generator_create(stream, &options, &generator);
    for (size_t i = 0; i < n; i++) ids[i] = text[i];
    return status ? status : lw_generator_prompt(generator, ids, n);
}
/* The next byte, or a status below 0 with its sign changed. */
EXPORT(next) int next(void) {
    lw_generator_token token = LW_GENERATOR_TOKEN_INIT;
    const lw_status status = lw_generator_next(generator, &token);
    return status ? -(int)status : token.id;
}
