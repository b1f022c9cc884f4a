/* vad MODEL.lw SOUND.wav: segments of speech in a 16-bit WAV file of any rate, one line each. */
#include "longwave/resampler.h"
#include "longwave/speech_detector.h"
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

/* Leaves the file at the first sample. Returns the sample rate, or 0 when it is not a 16-bit WAV. */
static unsigned read_wav_header(FILE *file, unsigned *channels) {
    unsigned char riff[12], chunk[8], format[16];
    unsigned rate = 0;
    if (fread(riff, 1, 12, file) != 12 || memcmp(riff, "RIFF", 4) || memcmp(riff + 8, "WAVE", 4)) return 0;
    while (fread(chunk, 1, 8, file) == 8) {
        unsigned size = little(chunk + 4, 4);
        if (!memcmp(chunk, "data", 4)) return rate; /* its size may be a fiction (a pipe): read to the end */
        if (!memcmp(chunk, "fmt ", 4) && size >= 16) {
            if (fread(format, 1, 16, file) != 16) return 0;
            *channels = little(format + 2, 2);
            if (*channels < 1 || *channels > 8 || little(format + 14, 2) != 16) return 0;
            rate = little(format + 4, 4);
            size -= 16;
        }
        if (fseek(file, (long)(size + (size & 1)), SEEK_CUR)) return 0; /* chunks have even sizes */
    }
    return 0;
}

static lw_status print_segments(lw_speech_detector *detector, double rate) {
    lw_speech_event event = LW_SPEECH_EVENT_INIT;
    lw_status status;
    while ((status = lw_speech_detector_pull(detector, &event)) == LW_OK)
        if (event.kind == LW_SPEECH_END) /* LW_SPEECH_BEGAN comes as soon as someone speaks */
            printf("%.3f s to %.3f s\n", (double)event.start / rate, (double)event.end / rate);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: vad MODEL.lw SOUND.wav\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) return failed(argv[1], status);

    FILE *sound = fopen(argv[2], "rb");
    if (!sound) return perror(argv[2]), 3;
    unsigned channels = 0, rate = read_wav_header(sound, &channels);
    if (rate == 0) return fprintf(stderr, "%s: not a 16-bit WAV file of 1 to 8 channels\n", argv[2]), 3;
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    lw_resampler_options sound_options = LW_RESAMPLER_OPTIONS_INIT;
    sound_options.format = LW_S16, sound_options.channels = channels; /* WAV is little-endian, as we are */
    sound_options.rate_in = rate, sound_options.rate_out = input.sample_rate;
    lw_resampler *resampler;
    if ((status = lw_resampler_create(&sound_options, &resampler))) return failed(argv[2], status);

    /* All zero: the settings of Silero's get_speech_timestamps. */
    lw_speech_detector_options settings = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    settings.format = LW_F32; /* what the resampler gives */
    lw_speech_detector *detector;
    status = lw_speech_detector_create(model, &settings, &detector);
    if (status) return failed("lw_speech_detector_create", status);

    short samples[256 * 8];
    float mono[256 * 16 + 1]; /* from 1,000 to 16,000 Hz; a microphone of 48,000 Hz needs 87 */
    for (size_t frames = 1, n; frames > 0;) {
        frames = fread(samples, channels * sizeof *samples, 256, sound);
        status = frames > 0
                     ? lw_resampler_push(resampler, samples, frames, mono, sizeof mono / sizeof *mono, &n)
                     : lw_resampler_finish(resampler, mono, sizeof mono / sizeof *mono, &n);
        if (status) return failed(argv[2], status);
        for (size_t done = 0, taken = 0; done < n; done += taken) {
            status = lw_speech_detector_push(detector, mono + done, n - done, &taken);
            if (status) return failed("lw_speech_detector_push", status);
            print_segments(detector, input.sample_rate);
        }
    }
    lw_speech_detector_finish(detector);
    status = print_segments(detector, input.sample_rate);
    if (status != LW_END) return failed("lw_speech_detector_pull", status);

    lw_resampler_destroy(resampler);
    lw_speech_detector_destroy(detector);
    lw_model_close(model);
    fclose(sound);
    return 0;
}
