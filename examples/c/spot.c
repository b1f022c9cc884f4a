/* spot MODEL.lw SOUND.wav: keywords in a mono 16-bit WAV file, one line each. */
#include "longwave/spotter.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what, lw_status status) {
    fprintf(stderr, "%s: %s (%s)\n", what, lw_status_text(status), lw_last_error());
    return 1;
}

static unsigned little(const unsigned char *p, int bytes) {
    unsigned value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | p[i];
    return value;
}

/* Leaves the file at the first sample. Returns the sample rate, or 0 when it is not a mono 16-bit
 * WAV. */
static unsigned read_wav_header(FILE *file) {
    unsigned char riff[12], chunk[8], format[16];
    unsigned rate = 0;
    if (fread(riff, 1, 12, file) != 12 || memcmp(riff, "RIFF", 4) || memcmp(riff + 8, "WAVE", 4)) return 0;
    while (fread(chunk, 1, 8, file) == 8) {
        unsigned size = little(chunk + 4, 4);
        if (!memcmp(chunk, "data", 4)) return rate; /* its size may be a fiction (a pipe): read to the end */
        if (!memcmp(chunk, "fmt ", 4) && size >= 16) {
            if (fread(format, 1, 16, file) != 16) return 0;
            if (little(format + 2, 2) != 1 || little(format + 14, 2) != 16) return 0;
            rate = little(format + 4, 4);
            size -= 16;
        }
        if (fseek(file, (long)(size + (size & 1)), SEEK_CUR)) return 0; /* chunks have even sizes */
    }
    return 0;
}

static lw_status print_words(lw_spotter *spotter, double rate) {
    lw_spotter_event event = {.struct_size = sizeof event};
    lw_status status;
    while ((status = lw_spotter_pull(spotter, &event)) == LW_OK)
        printf("%s  %.2f  at %.3f s (from %.3f s)\n", event.word, event.score, (double)event.tick / rate,
               (double)event.tick_start / rate);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: spot MODEL.lw SOUND.wav\n"), 2;
    lw_open_options options = {.struct_size = sizeof options};
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) return failed(argv[1], status);

    FILE *sound = fopen(argv[2], "rb");
    if (!sound) return perror(argv[2]), 3;
    unsigned rate = read_wav_header(sound);
    if (rate == 0) return fprintf(stderr, "%s: not a mono 16-bit WAV file\n", argv[2]), 3;
    lw_input_info input = {.struct_size = sizeof input};
    lw_model_input(model, 0, &input);
    if (rate != input.sample_rate) { /* a wrong rate finds nothing and says nothing: refuse it */
        fprintf(stderr, "%s: the model listens at %u Hz, this file has %u Hz\n", argv[2], input.sample_rate,
                rate);
        return 3;
    }

    /* All zero: thresholds and times of the artifact. */
    lw_spotter_options settings = {.struct_size = sizeof settings};
    settings.format = LW_S16;
    lw_spotter *spotter;
    status = lw_spotter_create(model, &settings, &spotter);
    if (status) return failed("lw_spotter_create", status);

    short samples[512]; /* WAV and this program are little-endian */
    size_t n;
    while ((n = fread(samples, sizeof *samples, 512, sound)) > 0)
        for (size_t done = 0, taken = 0; done < n; done += taken) {
            status = lw_spotter_push(spotter, samples + done, n - done, &taken);
            if (status) return failed("lw_spotter_push", status);
            print_words(spotter, rate);
        }
    lw_spotter_finish(spotter);
    status = print_words(spotter, rate);
    if (status != LW_END) return failed("lw_spotter_pull", status);

    lw_spotter_destroy(spotter);
    lw_model_close(model);
    fclose(sound);
    return 0;
}
