/* denoise MODEL.lw IN.wav OUT.wav: a 16-bit WAV file of any rate through a model with audio in and audio out.
 * The output has as many samples at the same rate, and each has the time of its input. */
#include "longwave/audio_stream.h"
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

/* One channel of 16 bits, `bytes` of them. */
static int write_wav_header(FILE *file, unsigned rate, unsigned bytes) {
    const unsigned fields[][2] = {{16, 4}, {1, 2}, {1, 2}, {rate, 4}, {2 * rate, 4}, {2, 2}, {16, 2}};
    unsigned char header[44] = "RIFF....WAVEfmt ", *at = header + 16;
    for (int i = 0; i < 4; i++) header[4 + i] = (unsigned char)((36 + bytes) >> 8 * i);
    for (int f = 0; f < 7; f++)
        for (unsigned i = 0; i < fields[f][1]; i++) *at++ = (unsigned char)(fields[f][0] >> 8 * i);
    memcpy(at, "data", 4);
    for (int i = 0; i < 4; i++) at[4 + i] = (unsigned char)(bytes >> 8 * i);
    return fseek(file, 0, SEEK_SET) == 0 && fwrite(header, 1, 44, file) == 44;
}

/* Writes the samples that are ready. */
static lw_status write_ready(lw_audio_stream *stream, FILE *file, unsigned *bytes) {
    short samples[1024];
    size_t n;
    lw_status status;
    while ((status = lw_audio_stream_pull(stream, samples, 1024, &n)) == LW_OK)
        *bytes += 2 * (unsigned)fwrite(samples, 2, n, file); /* WAV is little-endian, as we are */
    return status;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: denoise MODEL.lw IN.wav OUT.wav\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    lw_status status = lw_model_open(argv[1], &options, &model);
    if (status) return failed(argv[1], status);

    if (!strcmp(argv[2], argv[3])) return fprintf(stderr, "%s: is read; write another file\n", argv[3]), 2;
    FILE *in = fopen(argv[2], "rb");
    if (!in) return perror(argv[2]), 3;
    unsigned channels = 0, rate = read_wav_header(in, &channels);
    if (rate == 0) return fprintf(stderr, "%s: not a 16-bit WAV file of 1 to 8 channels\n", argv[2]), 3;
    lw_audio_stream_options how = LW_AUDIO_STREAM_OPTIONS_INIT;
    how.format = LW_S16;
    how.rate_in = how.rate_out = rate; /* other rates than the model's are converted on both sides */
    lw_audio_stream *stream;
    if ((status = lw_audio_stream_create(model, &how, &stream))) return failed(argv[2], status);
    FILE *out = fopen(argv[3], "wb");
    if (!out || !write_wav_header(out, rate, 0)) return perror(argv[3]), 4;

    short samples[512 * 8];
    unsigned bytes = 0;
    size_t frames;
    while ((frames = fread(samples, channels * sizeof *samples, 512, in)) > 0) {
        for (size_t i = 0; i < frames; i++) { /* the mean of the channels */
            int sum = 0;
            for (unsigned c = 0; c < channels; c++) sum += samples[i * channels + c];
            samples[i] = (short)(sum / (int)channels);
        }
        for (size_t done = 0, taken = 0; done < frames;
             done += taken) { /* it takes less only while samples wait */
            status = lw_audio_stream_push(stream, samples + done, frames - done, &taken);
            if (status) return failed("lw_audio_stream_push", status);
            write_ready(stream, out, &bytes);
        }
    }
    lw_audio_stream_finish(stream); /* the samples that the latency held back */
    status = write_ready(stream, out, &bytes);
    if (status != LW_END) return failed("lw_audio_stream_pull", status);
    const int written = write_wav_header(out, rate, bytes) && fclose(out) == 0;
    if (!written) return perror(argv[3]), 4;

    lw_audio_stream_destroy(stream);
    lw_model_close(model);
    fclose(in);
    return 0;
}
