/* static_memory MODEL.lw < samples: a model and its stream in two static arrays, without malloc.
 *
 * Reads signed 16-bit samples and prints the largest score of each row of output 0. The sizes below
 * fit examples/kws; for another model, print model_used and stream_size and choose yours.
 */
#include "longwave/longwave.h"
#include <stdalign.h>
#include <stdio.h>

enum { model_capacity = 8 << 20, stream_capacity = 1 << 20 };
static alignas(64) unsigned char model_memory[model_capacity], stream_memory[stream_capacity];

/* Hands out the array from front to back. Opening a model releases in reverse order, so releasing
 * the newest block is enough to reuse the memory. */
static size_t model_used;

static void *allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    const size_t start = (model_used + alignment - 1) / alignment * alignment;
    if (start > model_capacity || size > model_capacity - start) return NULL;
    model_used = start + size;
    return model_memory + start;
}

static void release(void *context, void *memory, size_t size) {
    (void)context;
    unsigned char *start = memory;
    if (start + size == model_memory + model_used) model_used = (size_t)(start - model_memory);
}

static int failed(const char *what, lw_status status) {
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    return 1;
}

static void print_rows(lw_stream *stream) {
    lw_stream_row row = LW_STREAM_ROW_INIT;
    while (lw_stream_pull(stream, &row) == LW_OK) {
        if (row.index != 0) continue;
        unsigned best = 0;
        for (unsigned i = 1; i < row.width; i++)
            if (row.data[i] > row.data[best]) best = i;
        printf("%llu: value %u is %.4f\n", (unsigned long long)row.row, best, row.data[best]);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: static_memory MODEL.lw < samples.raw\n"), 2;
    const lw_allocator arena = {allocate, release, NULL};
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    options.allocator = &arena;
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) return failed(argv[1], status);

    lw_stream_options settings = LW_STREAM_OPTIONS_INIT;
    settings.format = LW_S16;
    size_t stream_size, alignment;
    status = lw_stream_size(model, &settings, &stream_size, &alignment);
    if (status) return failed("lw_stream_size", status);
    fprintf(stderr, "model %zu bytes, stream %zu bytes\n", model_used, stream_size);
    if (stream_size > stream_capacity || alignment > 64)
        return fprintf(stderr, "stream_memory is too small\n"), 1;
    lw_stream *stream;
    status = lw_stream_init(model, &settings, stream_memory, sizeof stream_memory, &stream);
    if (status) return failed("lw_stream_init", status);

    short samples[320];
    size_t n;
    while ((n = fread(samples, sizeof *samples, 320, stdin)) > 0)
        for (size_t done = 0, taken = 0; done < n; done += taken) { /* a full queue takes less than n */
            status = lw_stream_push(stream, samples + done, n - done, &taken);
            if (status) return failed("lw_stream_push", status);
            print_rows(stream);
        }
    lw_stream_destroy(stream);
    lw_model_close(model);
    return 0;
}
