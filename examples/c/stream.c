/* stream MODEL.lw [INPUT.raw]: the whole life of a stream. Reads signed 16-bit samples (default:
 * standard input) and prints every row of output 0.
 *
 *     arecord -q -f S16_LE -r 16000 -t raw | stream kws.lw
 */
#include "longwave/longwave.h"
#include <stdio.h>

static int failed(const char *what, lw_status status) {
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    return 1;
}

/* Prints what waits. LW_AGAIN: the stream wants more input. LW_END: it is finished. */
static lw_status print_rows(lw_stream *stream) {
    lw_stream_row row = LW_STREAM_ROW_INIT;
    lw_status status;
    while ((status = lw_stream_pull(stream, &row)) == LW_OK) {
        if (row.index != 0) continue;
        printf("%llu:", (unsigned long long)row.row);
        /* Nine digits: the float, exactly. */
        for (unsigned i = 0; i < row.width; i++) printf(" %.9g", row.data[i]);
        printf("\n");
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: stream MODEL.lw [INPUT.raw]\n"), 2;
    FILE *input = argc > 2 ? fopen(argv[2], "rb") : stdin;
    if (!input) return perror(argv[2]), 3;

    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) return failed(argv[1], status);

    lw_stream_options stream_options = LW_STREAM_OPTIONS_INIT;
    stream_options.format = LW_S16;
    lw_stream *stream;
    status = lw_stream_create(model, &stream_options, &stream);
    if (status) return failed("lw_stream_create", status);

    /* From here on nothing allocates: this loop may run in an audio callback. */
    short samples[512];
    size_t n;
    while ((n = fread(samples, sizeof *samples, 512, input)) > 0) {
        /* Push takes less when its queue of rows is full. */
        for (size_t done = 0, taken = 0; done < n; done += taken) {
            status = lw_stream_push(stream, samples + done, n - done, &taken);
            if (status) return failed("lw_stream_push", status);
            print_rows(stream);
        }
    }
    lw_stream_finish(stream);
    status = print_rows(stream);
    if (status != LW_END) return failed("lw_stream_pull", status);

    lw_stream_destroy(stream);
    lw_model_close(model);
    return 0;
}
