/* A speech detector of a model that the program contains.
 *
 *   speech SAMPLES PROBABILITIES   compiled with -DMODEL=SYMBOL -DPREFIX=..., and the model's header
 *
 * SAMPLES has 16-bit samples. PROBABILITIES gets a float for each row. Prints the segments, in
 * samples, and the bytes of memory that model and detector need on this machine.
 */
#include <longwave/speech_detector.h>
#include <stdio.h>
#include <stdlib.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
static _Alignas(64) unsigned char model_memory[JOIN(PREFIX, _MODEL_BYTES)];
static _Alignas(64) unsigned char detector_memory[JOIN(PREFIX, _SPEECH_DETECTOR_BYTES)];

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, lw_last_error());
    return 1;
}

static FILE *rows;
static void pull(lw_speech_detector *detector) {
    lw_speech_event event = LW_SPEECH_EVENT_INIT;
    while (lw_speech_detector_pull(detector, &event) == LW_OK) {
        if (event.kind == LW_SPEECH_ROW) fwrite(&event.probability, 4, 1, rows);
        if (event.kind == LW_SPEECH_END) printf("segment %ld %ld\n", (long)event.start, (long)event.end);
    }
}

int main(int argc, char **argv) {
    FILE *sound = argc == 3 ? fopen(argv[1], "rb") : NULL;
    rows = sound ? fopen(argv[2], "wb") : NULL;
    if (!rows) return perror("SAMPLES PROBABILITIES"), 2;
    lw_model *model;
    lw_speech_detector *detector;
    lw_speech_detector_options options = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    options.format = LW_S16;
    options.rows = 1;
    if (lw_model_open_static(&MODEL, model_memory, sizeof model_memory, &model)) return failed("open");
    if (lw_speech_detector_init(model, &options, detector_memory, sizeof detector_memory, &detector))
        return failed("detector");
    static short samples[441];
    for (size_t n; (n = fread(samples, sizeof *samples, 441, sound)) > 0;)
        for (size_t at = 0, taken; at < n; at += taken) {
            if (lw_speech_detector_push(detector, samples + at, n - at, &taken)) return failed("push");
            pull(detector);
        }
    if (lw_speech_detector_finish(detector)) return failed("finish");
    pull(detector);
    size_t model_bytes, detector_bytes, alignment;
    if (lw_model_static_size(&MODEL, &model_bytes, &alignment) ||
        lw_speech_detector_size(model, &options, &detector_bytes, &alignment))
        return failed("size");
    printf("model %u\ndetector %u\n", (unsigned)model_bytes, (unsigned)detector_bytes);
    lw_speech_detector_destroy(detector);
    lw_model_close(model);
    return fclose(rows) == 0 ? 0 : 1;
}
