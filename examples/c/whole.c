/* whole MODEL.lw [INPUT.raw]: one whole sequence at once. Reads signed 16-bit samples (default:
 * standard input), as many as the model takes, and prints the last row of every output, with the
 * names of the classes where it has them.
 *
 *     arecord -q -f S16_LE -r 16000 -d 1 -t raw | whole kws.lw
 */
#include "longwave/longwave.h"
#include <stdio.h>
#include <stdlib.h>

enum { most_outputs = 16 };

static int failed(const char *what, lw_status status) {
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    return 1;
}

/* Rows of an output for so many input ticks; one where it has no time axis. */
static size_t rows_for(const lw_output_info *output, size_t ticks) {
    return output->clock_num == 0 ? 1 : ticks * output->clock_num / output->clock_den;
}

static void print_last_row(const lw_model *model, const lw_model_info *info, const lw_output_info *output,
                           const lw_run_tensor *values) {
    if (values->rows == 0) return; /* the sequence is shorter than one tick of this output */
    const float *row = (const float *)values->data + (values->rows - 1) * output->width;
    printf("%s, the last of %zu rows:\n", output->name, values->rows);
    for (unsigned i = 0; i < output->width; i++)
        if (output->width == info->labels) printf("  %-12s %.4f\n", lw_model_label(model, i), row[i]);
        else printf("  %u %.4f\n", i, row[i]);
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: whole MODEL.lw [INPUT.raw]\n"), 2;
    FILE *input = argc > 2 ? fopen(argv[2], "rb") : stdin;
    if (!input) return perror(argv[2]), 3;

    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) return failed(argv[1], status);
    lw_model_info info = LW_MODEL_INFO_INIT;
    lw_model_get_info(model, &info);
    lw_input_info sound = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &sound);
    if (info.inputs != 1 || sound.kind != LW_INPUT_AUDIO || info.run_outputs > most_outputs)
        return fprintf(stderr, "%s: needed: one audio input, at most %d outputs\n", argv[1], most_outputs), 1;

    lw_runner_options run_options = LW_RUNNER_OPTIONS_INIT;
    run_options.format = LW_S16;
    run_options.threads = 2; /* the same bits with any number */
    lw_runner *runner;
    status = lw_runner_create(model, &run_options, &runner);
    if (status) return failed("lw_runner_create", status);

    short *samples = malloc(info.run_capacity * sizeof *samples);
    size_t n = fread(samples, sizeof *samples, info.run_capacity, input);
    lw_run_tensor in = LW_RUN_TENSOR_INIT;
    in.data = samples;
    in.rows = n;

    lw_output_info outputs[most_outputs];
    lw_run_tensor out[most_outputs];
    for (unsigned i = 0; i < info.run_outputs; i++) {
        outputs[i] = (lw_output_info)LW_OUTPUT_INFO_INIT;
        lw_model_run_output(model, i, &outputs[i]);
        size_t room = rows_for(&outputs[i], info.run_capacity);
        float *values = malloc(room * outputs[i].width * sizeof *values);
        out[i] = (lw_run_tensor)LW_RUN_TENSOR_INIT;
        out[i].data = values;
        out[i].rows = room;
    }

    status = lw_run(runner, &in, 1, out, info.run_outputs);
    if (status) return failed("lw_run", status);
    for (unsigned i = 0; i < info.run_outputs; i++) {
        print_last_row(model, &info, &outputs[i], &out[i]);
        free(out[i].data);
    }
    free(samples);
    lw_runner_destroy(runner);
    lw_model_close(model);
    return 0;
}
