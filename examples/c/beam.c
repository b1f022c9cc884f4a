/* beam MODEL.lw WIDTH COUNT PROMPT: the likeliest COUNT bytes behind the prompt that a beam of
 * WIDTH finds, and the logarithm of their probability. Every candidate has a stream: its whole past
 * is a state of fixed size, which lw_stream_copy hands on. */
#include "longwave/longwave.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ids = 256, widest = 64, longest = 4096 };

typedef struct {
    lw_stream *stream; /* has read the prompt and the text */
    float logits[ids]; /* behind it */
    double log_probability;
    int length;
    char text[longest];
} candidate;

typedef struct {
    int parent, id;
    double log_probability;
} step;

static int failed(const char *what, lw_status status) {
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    exit(1);
}

/* Keeps the newest row. */
static void take_logits(candidate *c) {
    lw_stream_row row = LW_STREAM_ROW_INIT;
    lw_status status;
    while ((status = lw_stream_pull(c->stream, &row)) == LW_OK)
        if (row.width == ids) memcpy(c->logits, row.data, sizeof c->logits);
    if (status != LW_AGAIN) failed("lw_stream_pull", status);
}

/* The best `width` ways on from n candidates, the best first. Returns how many there are. */
static int best_steps(const candidate *from, int n, int width, step *best) {
    int found = 0;
    for (int c = 0; c < n; c++) {
        double most = from[c].logits[0], sum = 0;
        for (int i = 1; i < ids; i++) most = fmax(most, from[c].logits[i]);
        for (int i = 0; i < ids; i++) sum += exp(from[c].logits[i] - most);
        for (int i = 0; i < ids; i++) {
            const step next = {c, i, from[c].log_probability + from[c].logits[i] - most - log(sum)};
            int at = found < width ? found++ : width;
            for (; at > 0 && best[at - 1].log_probability < next.log_probability; at--)
                if (at < width) best[at] = best[at - 1];
            if (at < width) best[at] = next;
        }
    }
    return found;
}

static void follow(candidate *to, const candidate *from, const step *s) {
    lw_status status = lw_stream_copy(to->stream, from[s->parent].stream);
    if (status) failed("lw_stream_copy", status);
    const int32_t id = s->id;
    status = lw_stream_push(to->stream, &id, 1, NULL);
    if (status) failed("lw_stream_push", status);
    memcpy(to->text, from[s->parent].text, (size_t)from[s->parent].length);
    to->text[from[s->parent].length] = (char)id;
    to->length = from[s->parent].length + 1;
    to->log_probability = s->log_probability;
    take_logits(to);
}

int main(int argc, char **argv) {
    const int width = argc > 4 ? atoi(argv[2]) : 0, count = argc > 4 ? atoi(argv[3]) : 0;
    if (width < 1 || width > widest || count < 1 || count > longest || argv[4][0] == 0)
        return fprintf(stderr, "usage: beam MODEL.lw WIDTH COUNT PROMPT\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) failed(argv[1], status);
    lw_stream_options of_one = LW_STREAM_OPTIONS_INIT;
    of_one.format = LW_I32;
    of_one.block = 1; /* writes; the larger entries read the prompt */

    static candidate sets[2][widest]; /* those at hand, and those that follow */
    for (int i = 0; i < 2 * width; i++)
        if ((status = lw_stream_create(model, &of_one, &sets[i / width][i % width].stream)))
            failed("lw_stream_create", status);
    static int32_t prompt[longest];
    const size_t n = strlen(argv[4]) < longest ? strlen(argv[4]) : longest;
    for (size_t i = 0; i < n; i++) prompt[i] = (unsigned char)argv[4][i];
    status = lw_stream_prefill(sets[0][0].stream, prompt, n);
    if (status) failed("lw_stream_prefill", status);
    take_logits(&sets[0][0]);

    int alive = 1;
    for (int i = 0; i < count; i++) {
        step best[widest];
        alive = best_steps(sets[i % 2], alive, width, best);
        for (int c = 0; c < alive; c++) follow(&sets[(i + 1) % 2][c], sets[i % 2], &best[c]);
    }
    const candidate *winner = &sets[count % 2][0];
    printf("%.*s\n%.4f\n", winner->length, winner->text, winner->log_probability);
    for (int i = 0; i < 2 * width; i++) lw_stream_destroy(sets[i / width][i % width].stream);
    lw_model_close(model);
    return 0;
}
