/* keywords MODEL.lw < samples.raw: prints each keyword that it hears, with its score and time.
 *
 * Samples are mono, signed 16-bit, at the sample rate of the model:
 *     arecord -q -f S16_LE -r 16000 -t raw | keywords kws.lw
 */
#include "longwave/spotter.h"
#include <stdio.h>
#include <stdlib.h>

static void must(const char *what, lw_status status) {
    if (status == LW_OK) return;
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: keywords MODEL.lw < samples.raw\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* only for files that you trust: a model contains machine code */
    lw_model *model;
    must(argv[1], lw_model_open(argv[1], &options, &model));
    lw_input_info input = LW_INPUT_INFO_INIT;
    must("lw_model_input", lw_model_input(model, 0, &input));

    lw_spotter_options settings = LW_SPOTTER_OPTIONS_INIT;
    settings.format = LW_S16;
    lw_spotter *spotter;
    must("lw_spotter_create", lw_spotter_create(model, &settings, &spotter));

    short samples[320]; /* 20 ms at 16 kHz; any number works */
    size_t n;
    lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
    while ((n = fread(samples, sizeof *samples, 320, stdin)) > 0) {
        must("lw_spotter_push", lw_spotter_push(spotter, samples, n, NULL));
        while (lw_spotter_pull(spotter, &event) == LW_OK)
            printf("%s %.2f at %.2f s\n", event.word, event.score, (double)event.tick / input.sample_rate);
    }
    lw_spotter_destroy(spotter);
    lw_model_close(model);
    return 0;
}
