/* speech MODEL.lw [DEVICE]: prints when somebody speaks near a microphone, for a Raspberry Pi or any
 * other Linux board with ALSA. `arecord -L` lists the devices.
 */
#include <alsa/asoundlib.h>
#include <longwave/speech_detector.h>
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

static lw_status print_events(lw_speech_detector *detector, double rate) {
    lw_speech_event event = LW_SPEECH_EVENT_INIT;
    lw_status status;
    while ((status = lw_speech_detector_pull(detector, &event)) == LW_OK) {
        if (event.kind == LW_SPEECH_BEGAN) printf("%.3f s  speech begins\n", (double)event.start / rate);
        if (event.kind == LW_SPEECH_DROPPED) printf("%.3f s  it was too short\n", (double)event.start / rate);
        if (event.kind == LW_SPEECH_END)
            printf("%.3f s to %.3f s\n", (double)event.start / rate, (double)event.end / rate);
    }
    fflush(stdout);
    return status == LW_AGAIN || status == LW_END ? LW_OK : status;
}

/* Until the device ends or a signal comes. Samples that an overrun lost are a gap in the sound. */
static int listen(snd_pcm_t *microphone, lw_speech_detector *detector, double rate) {
    short samples[most_frames];
    lw_status status = LW_OK;
    while (!stopped) {
        snd_pcm_sframes_t n = snd_pcm_readi(microphone, samples, most_frames);
        if (n == -EPIPE || n == -ESTRPIPE) {
            fprintf(stderr, "overrun: samples are lost\n");
            n = snd_pcm_recover(microphone, (int)n, 1);
        }
        if (n == -EINTR) continue;
        if (n == -ENODEV) break; /* unplugged */
        if (n < 0) return failed("microphone", snd_strerror((int)n));
        for (size_t at = 0, taken = 0; at < (size_t)n && status == LW_OK; at += taken) {
            status = lw_speech_detector_push(detector, samples + at, (size_t)n - at, &taken);
            if (status == LW_OK) status = print_events(detector, rate);
        }
        if (status != LW_OK) return failed("speech", lw_last_error());
    }
    status = lw_speech_detector_finish(detector);
    if (status == LW_OK) status = print_events(detector, rate);
    return status == LW_OK ? 0 : failed("speech", lw_last_error());
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) return fprintf(stderr, "usage: speech MODEL.lw [DEVICE]\n"), 2;
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1; /* we made this file ourselves */
    lw_model *model;
    if (lw_model_open(argv[1], &options, &model)) return failed(argv[1], lw_last_error());
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    /* All zero: the settings of Silero's get_speech_timestamps. */
    lw_speech_detector_options settings = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    settings.format = LW_S16;
    lw_speech_detector *detector;
    if (lw_speech_detector_create(model, &settings, &detector)) return failed(argv[1], lw_last_error());

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
    const int result = listen(microphone, detector, input.sample_rate);
    snd_pcm_close(microphone);
    lw_speech_detector_destroy(detector);
    lw_model_close(model);
    return result;
}
