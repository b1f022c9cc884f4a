/* A keyword spotter in firmware: samples in, words out. All memory is static. The model is part of
 * the program, and code and constants stay in flash.
 */
#include "board.h"
#include <kws12.h>
#include <longwave/spotter.h>

static _Alignas(LONGWAVE_KWS12_ALIGNMENT) unsigned char model_memory[LONGWAVE_KWS12_MODEL_BYTES];
static _Alignas(LONGWAVE_KWS12_ALIGNMENT) unsigned char spotter_memory[LONGWAVE_KWS12_SPOTTER_BYTES];

int main(void) {
    if (board_start()) board_fail("the board does not start");
    lw_model *model;
    if (lw_model_open_static(&longwave_kws12, model_memory, sizeof model_memory, &model))
        board_fail(lw_last_error());
    lw_input_info input = LW_INPUT_INFO_INIT;
    lw_model_input(model, 0, &input);
    lw_spotter_options options = LW_SPOTTER_OPTIONS_INIT;
    options.format = LW_S16;
    lw_spotter *spotter;
    if (lw_spotter_init(model, &options, spotter_memory, sizeof spotter_memory, &spotter))
        board_fail(lw_last_error());

    static int16_t samples[LONGWAVE_KWS12_BLOCK];
    size_t n;
    while ((n = board_samples(samples, LONGWAVE_KWS12_BLOCK)) > 0) {
        if (lw_spotter_push(spotter, samples, n, NULL)) board_fail(lw_last_error());
        lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
        while (lw_spotter_pull(spotter, &event) == LW_OK)
            board_word(event.word, (unsigned)(event.score * 100 + 0.5f),
                       (uint32_t)(event.tick * 1000 / input.sample_rate));
    }
    board_end();
    return 0;
}
