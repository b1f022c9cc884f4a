/* A keyword spotter whose model is part of the program: `longwave compile --emit static` wrote
 * kws12.a and kws12.h. It opens no file, allocates nothing and loads no code. All memory is in the
 * two arrays below.
 */
#include "listen.h"
#include <kws12.h>
#include <longwave/longwave.h>
#include <longwave/spotter.h>

static _Alignas(LONGWAVE_KWS12_ALIGNMENT) unsigned char model_memory[LONGWAVE_KWS12_MODEL_BYTES];
static _Alignas(LONGWAVE_KWS12_ALIGNMENT) unsigned char spotter_memory[LONGWAVE_KWS12_SPOTTER_BYTES];
static lw_spotter *spotter;

static int failed(const char *what, lw_status status) {
    put_text(what);
    put_text(": ");
    put_text(lw_status_text(status));
    put_text(": ");
    put_text(lw_last_error());
    put_text("\n");
    return 1;
}

int listen_begin(void) {
    lw_model *model;
    lw_status status = lw_model_open_static(&longwave_kws12, model_memory, sizeof model_memory, &model);
    if (status) return failed("lw_model_open_static", status);
    lw_spotter_options options = LW_SPOTTER_OPTIONS_INIT;
    options.format = LW_S16;
    status = lw_spotter_init(model, &options, spotter_memory, sizeof spotter_memory, &spotter);
    return status ? failed("lw_spotter_init", status) : 0;
}

static int print_events(void) {
    lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
    lw_status status;
    while ((status = lw_spotter_pull(spotter, &event)) == LW_OK) {
        put_number(event.tick * 1000 / 16000);
        put_text(" ms  ");
        put_text(event.word);
        put_text("  ");
        put_number((uint32_t)(event.score * 100 + 0.5f));
        put_text(" %\n");
    }
    return status == LW_AGAIN || status == LW_END ? 0 : failed("lw_spotter_pull", status);
}

int listen_to(const int16_t *samples, size_t n) {
    while (n > 0) {
        size_t taken = 0;
        const size_t block = n < LONGWAVE_KWS12_BLOCK ? n : LONGWAVE_KWS12_BLOCK;
        const lw_status status = lw_spotter_push(spotter, samples, block, &taken);
        if (status) return failed("lw_spotter_push", status);
        if (print_events()) return 1;
        samples += taken;
        n -= taken;
    }
    return 0;
}

static void line(const char *what, uint64_t bytes) {
    put_text(what);
    put_number(bytes);
    put_text("\n");
}

void listen_sizes(void) {
    line("flash  code of the model            ", LONGWAVE_KWS12_CODE_BYTES);
    line("flash  plan, weights and tables     ", LONGWAVE_KWS12_CONSTANT_BYTES);
    line("memory model                        ", sizeof model_memory);
    line("memory spotter with its stream      ", sizeof spotter_memory);
}
