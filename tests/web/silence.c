/* silence FILE.weights: nanoseconds per block of noise, of silence after it, and of samples of
 * 1e-41, of each the second half: 90 % of the blocks took longer. Compiled with -DMODEL and
 * -DPREFIX as tests/static/rows.c, for WASI. WebAssembly cannot flush denormal numbers to zero. */
#define _POSIX_C_SOURCE 200809L
#include <longwave/longwave.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
enum { blocks = 4000, block = JOIN(PREFIX, _BLOCK) };
static _Alignas(64) unsigned char weights[JOIN(PREFIX, _WEIGHTS_BYTES)], memory[JOIN(PREFIX, _MODEL_BYTES)],
    stream_memory[JOIN(PREFIX, _STREAM_BYTES)];
static double times[blocks];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static float noise(void) {
    static unsigned seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return (float)(int)seed * (0.3f / 2147483648.0f);
}
static float silence(void) { return 0; }
static float denormal(void) { return 1e-41f; }

static int measure(const char *what, lw_stream *stream, size_t width, float (*sample)(void)) {
    float *samples = malloc(block * width * sizeof *samples);
    for (int b = 0; b < blocks; b++) {
        for (size_t i = 0; i < block * width; i++) samples[i] = sample();
        size_t taken;
        lw_stream_row row = LW_STREAM_ROW_INIT;
        const double start = now();
        if (lw_stream_push(stream, samples, block, &taken)) return 1;
        while (lw_stream_pull(stream, &row) == LW_OK) {
        }
        times[b] = now() - start;
    }
    free(samples);
    qsort(times + blocks / 2, blocks - blocks / 2, sizeof *times, compare);
    printf("  %-8s %8.0f ns", what, times[blocks / 2 + blocks / 20]);
    return 0;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file || fread(weights, 1, sizeof weights, file) != sizeof weights) return perror("weights"), 1;
    lw_model *model;
    lw_stream *stream;
    if (lw_model_open_static_weights(&MODEL, weights, sizeof weights, memory, sizeof memory, &model))
        return puts(lw_last_error()), 1;
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    options.format = LW_F32;
    if (lw_stream_init(model, &options, stream_memory, sizeof stream_memory, &stream))
        return puts(lw_last_error()), 1;
    const size_t width = input.width ? input.width : 1;
    const int failed = measure("noise", stream, width, noise) || measure("silence", stream, width, silence) ||
                       measure("noise", stream, width, noise) || measure("1e-41", stream, width, denormal);
    puts("");
    return failed;
}
