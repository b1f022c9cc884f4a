/* Voice activity in firmware: samples in, segments of speech out. All memory is static. The model is
 * part of the program, and code and constants stay in flash. The Makefile defines MODEL, the symbol
 * of the header, and PREFIX, that of its macros.
 */
#include "board.h"
#include <longwave/speech_detector.h>
#include <speech.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define SIZE(what) JOIN(PREFIX, what)

static _Alignas(SIZE(_ALIGNMENT)) unsigned char model_memory[SIZE(_MODEL_BYTES)];
static _Alignas(SIZE(_ALIGNMENT)) unsigned char detector_memory[SIZE(_SPEECH_DETECTOR_BYTES)];

static void tell(lw_speech_detector *detector, uint32_t rate) {
    lw_speech_event event = LW_SPEECH_EVENT_INIT;
    while (lw_speech_detector_pull(detector, &event) == LW_OK)
        if (event.kind == LW_SPEECH_END) /* LW_SPEECH_BEGAN comes as soon as someone speaks */
            board_speech((uint32_t)(event.start * 1000 / rate), (uint32_t)(event.end * 1000 / rate));
}

int main(void) {
    if (board_start()) board_fail("the board does not start");
    lw_model *model;
    if (lw_model_open_static(&MODEL, model_memory, sizeof model_memory, &model)) board_fail(lw_last_error());
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    lw_speech_detector_options options = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    options.format = LW_S16;
    lw_speech_detector *detector;
    if (lw_speech_detector_init(model, &options, detector_memory, sizeof detector_memory, &detector))
        board_fail(lw_last_error());

    static int16_t samples[SIZE(_BLOCK)];
    size_t n, taken;
    while ((n = board_samples(samples, SIZE(_BLOCK))) > 0)
        for (size_t at = 0; at < n; at += taken) {
            if (lw_speech_detector_push(detector, samples + at, n - at, &taken)) board_fail(lw_last_error());
            tell(detector, input.sample_rate);
        }
    if (lw_speech_detector_finish(detector)) board_fail(lw_last_error());
    tell(detector, input.sample_rate);
    board_end();
    return 0;
}
