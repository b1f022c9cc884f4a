#include "response.h"
#include <math.h>
#include <sndfile.h>
#include <soxr.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { LEAST_RATE = 1000, MOST_RATE = 768000, MOST_SAMPLE = 1000 };

static int refused(char reason[REASON], const char *why) {
    snprintf(reason, REASON, "%s", why);
    return 0;
}

/* Larger ones would harm ears. The text of NaN and infinity is their name. */
static int sane_samples(const float *samples, size_t n, int channels, char reason[REASON]) {
    for (size_t i = 0; i < n * (size_t)channels; i++)
        if (!(fabsf(samples[i]) <= MOST_SAMPLE)) {
            snprintf(reason, REASON, "sample %zu of channel %zu is %g: expected -%d to %d",
                     i / (size_t)channels, i % (size_t)channels + 1, samples[i], MOST_SAMPLE, MOST_SAMPLE);
            return 0;
        }
    return 1;
}

/* Channels side by side, as the file has them. NULL: refused. */
static float *read_frames(SNDFILE *file, const SF_INFO *info, char reason[REASON]) {
    const size_t n = (size_t)info->frames;
    float *samples = malloc(n * (size_t)info->channels * sizeof(float));
    if (!samples) return refused(reason, "no memory for the response"), NULL;
    const sf_count_t got = sf_readf_float(file, samples, info->frames);
    if (got != info->frames) {
        snprintf(reason, REASON, "the file ends after %lld of %zu samples", (long long)got, n);
    } else if (sane_samples(samples, n, info->channels, reason)) {
        return samples;
    }
    free(samples);
    return NULL;
}

/* At the host's rate. A response is a function of time: with more samples a second each is smaller. */
static float *resampled(const float *from, size_t n, int channels, double rate, double host, size_t *made,
                        char reason[REASON]) {
    const size_t room = (size_t)ceil((double)n * host / rate);
    float *to = malloc((room + 1) * (size_t)channels * sizeof(float));
    if (!to) return refused(reason, "no memory for the response"), NULL;
    const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_VHQ, 0);
    const soxr_error_t error =
        soxr_oneshot(rate, host, (unsigned)channels, from, n, NULL, to, room, made, &io, &quality, NULL);
    if (error || *made == 0) {
        snprintf(reason, REASON, "cannot be resampled from %.0f to %.0f Hz: %s", rate, host,
                 error ? error : "no sample is left");
        free(to);
        return NULL;
    }
    for (size_t i = 0; i < *made * (size_t)channels; i++) to[i] *= (float)(rate / host);
    return to;
}

static int taken(SNDFILE *file, const SF_INFO *info, double host, size_t most, Response *response,
                 char reason[REASON]) {
    const int channels = info->channels;
    if (channels != 1 && channels != 2 && channels != 4) {
        snprintf(
            reason, REASON,
            "has %d channels: expected 1, 2 (left, right) or 4 (left to left, left to right, right to left, "
            "right to right)",
            channels);
        return 0;
    }
    if (info->samplerate < LEAST_RATE || info->samplerate > MOST_RATE) {
        snprintf(reason, REASON, "has %d Hz: expected %d to %d", info->samplerate, LEAST_RATE, MOST_RATE);
        return 0;
    }
    if (info->frames <= 0) return refused(reason, "has no samples");
    const double needed = ceil((double)info->frames * host / info->samplerate);
    if (needed > (double)most) {
        snprintf(reason, REASON,
                 "lasts %.3f s: the longest shape of the bundle takes %.3f s at the host's %.0f Hz",
                 (double)info->frames / info->samplerate, (double)most / host, host);
        return 0;
    }
    float *samples = read_frames(file, info, reason);
    if (!samples) return 0;
    size_t n = (size_t)info->frames;
    if (info->samplerate != host) {
        float *other = resampled(samples, n, channels, info->samplerate, host, &n, reason);
        free(samples);
        samples = other;
        if (!samples) return 0;
    }
    float *taps = malloc(n * (size_t)channels * sizeof(float));
    if (taps)
        for (int c = 0; c < channels; c++)
            for (size_t t = 0; t < n; t++)
                taps[(size_t)c * n + t] = samples[t * (size_t)channels + (size_t)c];
    free(samples);
    *response = (Response){channels, n, taps};
    return taps ? 1 : refused(reason, "no memory for the response");
}

int response_read(const char *path, double host, size_t most, Response *response, char reason[REASON]) {
    struct stat about;
    if (stat(path, &about)) return refused(reason, "cannot be opened: no such file, or no permission");
    if (!S_ISREG(about.st_mode)) return refused(reason, "is not a regular file");
    SF_INFO info = {0};
    SNDFILE *file = sf_open(path, SFM_READ, &info);
    if (!file) return refused(reason, sf_strerror(NULL));
    const int done = taken(file, &info, host, most, response, reason);
    sf_close(file);
    return done;
}
