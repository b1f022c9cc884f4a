/* What lw_model_open_static refuses, and that the sizes in the header are exact: compiled with
 * -DMODEL and -DPREFIX as rows.c. */
#include <longwave/longwave.h>
#include <stdio.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
enum { model_bytes = JOIN(PREFIX, _MODEL_BYTES), stream_bytes = JOIN(PREFIX, _STREAM_BYTES) };
static _Alignas(64) unsigned char memory[model_bytes + 64],
    stream_memory[stream_bytes], copy[JOIN(PREFIX, _CONSTANT_BYTES)];
static int wrong;

static void expect(const char *what, lw_status got, lw_status wanted, const char *text) {
    if (got == wanted && strstr(lw_last_error(), text)) return;
    printf("%s: status %d (%s), expected %d with \"%s\"\n", what, (int)got, lw_last_error(), (int)wanted,
           text);
    wrong = 1;
}
static void check(const char *what, int holds) {
    if (holds) return;
    printf("%s does not hold\n", what);
    wrong = 1;
}

int main(void) {
    lw_model *model;
    const lw_static_model *given = &MODEL;
    size_t size = 0, alignment = 0;
    check("lw_model_static_size", lw_model_static_size(given, &size, &alignment) == LW_OK);
    check("the size in the header", EXACT ? size == model_bytes : size <= model_bytes);
    check("the alignment in the header", alignment == 64);
    expect("size NULL", lw_model_static_size(given, NULL, &alignment), LW_INVALID_ARGUMENT,
           "size or alignment is NULL");
    expect("out NULL", lw_model_open_static(given, memory, size, NULL), LW_INVALID_ARGUMENT, "out is NULL");
    expect("model NULL", lw_model_open_static(NULL, memory, size, &model), LW_INVALID_ARGUMENT,
           "model is NULL");
    expect("memory NULL", lw_model_open_static(given, NULL, size, &model), LW_INVALID_ARGUMENT,
           "memory is NULL or not aligned to 64");
    expect("not aligned", lw_model_open_static(given, memory + 8, size, &model), LW_INVALID_ARGUMENT,
           "not aligned to 64");
    expect("too small", lw_model_open_static(given, memory, size - 1, &model), LW_TOO_SMALL,
           "the model needs ");
    check("no model", model == NULL);
    given = (const lw_static_model *)memory;
    expect("other bytes", lw_model_open_static(given, memory, size, &model), LW_BAD_ARTIFACT,
           "--emit static");
    given = &MODEL;

    /* As static_model.h lays it out: layout at byte 8, machine at byte 10. The code is never
     * reached. */
    memcpy(copy, given, sizeof copy);
    copy[8]++;
    given = (const lw_static_model *)copy;
    expect("another layout", lw_model_open_static(given, memory, size, &model), LW_BAD_VERSION,
           "one version");
    copy[8]--, copy[10] ^= 0xff;
    expect("another machine", lw_model_open_static(given, memory, size, &model), LW_NO_VARIANT,
           "was compiled for ");
    given = &MODEL;

    memset(memory, 0xa5, sizeof memory);
    check("it opens", lw_model_open_static(given, memory, size, &model) == LW_OK);
    for (size_t i = size; i < sizeof memory; i++)
        if (memory[i] != 0xa5) check("nothing is written behind the memory", 0);
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
    lw_stream *stream;
    check("lw_stream_size", lw_stream_size(model, &options, &size, &alignment) == LW_OK);
    check("the size of a stream in the header", EXACT ? size == stream_bytes : size <= stream_bytes);
    check("a stream in static memory",
          lw_stream_init(model, &options, stream_memory, size, &stream) == LW_OK);
    lw_stream_destroy(stream);
    expect("no memory is left", lw_stream_create(model, &options, &stream), LW_NO_MEMORY,
           "no memory for a stream");
    lw_model_close(model);
    return wrong;
}
