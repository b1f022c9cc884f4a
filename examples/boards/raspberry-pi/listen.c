/* listen MODEL.lw [DEVICE]: prints the keywords that a microphone hears, for a Raspberry Pi or any
 * other Linux board with ALSA. `arecord -L` lists the devices.
 */
#include <alsa/asoundlib.h>
#include <longwave/spotter.h>
#include <signal.h>
#include <stdio.h>

enum { latency_us = 200000, most_frames = 1600 };

static volatile sig_atomic_t stopped;
static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static int failed(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

static lw_status print_words(lw_spotter *spotter, double rate) {
    lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
    lw_status status;
    while ((status = lw_spotter_pull(spotter, &event)) == LW_OK)
        printf("%.2f s  %s  %.2f\n", (double)event.tick / rate, event.word, event.score);
    fflush(stdout);
    return status == LW_AGAIN ? LW_OK : status;
}

/* Until the device ends or a signal comes. Samples that an overrun lost are a gap in the sound. */
static int listen(snd_pcm_t *microphone, lw_spotter *spotter, double rate) {
    short samples[most_frames];
    while (!stopped) {
        snd_pcm_sframes_t n = snd_pcm_readi(microphone, samples, most_frames);
        if (n == -EPIPE || n == -ESTRPIPE) {
            fprintf(stderr, "overrun: samples are lost\n");
            n = snd_pcm_recover(microphone, (int)n, 1);
        }
        if (n == -EINTR) continue;
        if (n == -ENODEV) break; /* unplugged */
        if (n < 0) return failed("microphone", snd_strerror((int)n));
        lw_status status = LW_OK;
        for (size_t at = 0, taken = 0; at < (size_t)n && status == LW_OK; at += taken) {
            status = lw_spotter_push(spotter, samples + at, (size_t)n - at, &taken);
            if (status == LW_OK) status = print_words(spotter, rate);
        }
        if (status != LW_OK) return failed("spotter", lw_last_error());
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) return fprintf(stderr, "usage: listen MODEL.lw [DEVICE]\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    if (lw_model_open(argv[1], &options, &model)) return failed(argv[1], lw_last_error());
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    lw_spotter_options settings = LW_SPOTTER_OPTIONS_INIT;
    settings.format = LW_S16;
    lw_spotter *spotter;
    if (lw_spotter_create(model, &settings, &spotter)) return failed(argv[1], lw_last_error());

    const char *device = argc == 3 ? argv[2] : "default";
    snd_pcm_t *microphone;
    int error = snd_pcm_open(&microphone, device, SND_PCM_STREAM_CAPTURE, 0);
    if (error < 0) return failed(device, snd_strerror(error));
    /* ALSA resamples where the device has another rate. */
    error = snd_pcm_set_params(microphone, SND_PCM_FORMAT_S16_LE, SND_PCM_ACCESS_RW_INTERLEAVED, 1,
                               input.sample_rate, 1, latency_us);
    if (error < 0) return failed(device, snd_strerror(error));
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    const int result = listen(microphone, spotter, input.sample_rate);
    snd_pcm_close(microphone);
    lw_spotter_destroy(spotter);
    lw_model_close(model);
    return result;
}
