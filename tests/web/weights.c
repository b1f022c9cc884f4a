/* What lw_model_open_static_weights refuses: weights FILE.weights, compiled with -DMODEL and
 * -DPREFIX as tests/static/rows.c. */
#include <longwave/longwave.h>
#include <stdio.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
enum { weights_bytes = JOIN(PREFIX, _WEIGHTS_BYTES), model_bytes = JOIN(PREFIX, _MODEL_BYTES) };
static _Alignas(64) unsigned char weights[weights_bytes + 64], memory[model_bytes];
static lw_model *model;
static int wrong;

static void expect(const char *what, const void *given, size_t bytes, lw_status wanted, const char *text) {
    const lw_status got = lw_model_open_static_weights(&MODEL, given, bytes, memory, sizeof memory, &model);
    if (got == wanted && (!text || strstr(lw_last_error(), text)) && (model == NULL) == (got != LW_OK))
        return;
    printf("%s: status %d (%s), expected %d\n", what, (int)got, lw_last_error(), (int)wanted);
    wrong = 1;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file || fread(weights, 1, weights_bytes, file) != weights_bytes || fgetc(file) != EOF)
        return perror("weights"), 1;
    expect("no weights", NULL, 0, LW_INVALID_ARGUMENT, "a file beside the model");
    expect("not aligned", weights + 8, weights_bytes, LW_INVALID_ARGUMENT, "aligned to 64");
    expect("cut short", weights, weights_bytes - 1, LW_BAD_ARTIFACT, "bytes, not ");
    expect("only a start", weights, 63, LW_BAD_ARTIFACT, "not a file of weights");
    weights[0] ^= 1;
    expect("another file", weights, weights_bytes, LW_BAD_ARTIFACT, "not a file of weights");
    weights[0] ^= 1, weights[8] ^= 1;
    expect("another model", weights, weights_bytes, LW_BAD_ARTIFACT, "of another model");
    weights[8] ^= 1;
    expect("the right ones", weights, weights_bytes, LW_OK, NULL);
    lw_model_close(model);
    return wrong;
}
