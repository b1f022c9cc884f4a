/* longwave-runner: serves the C library over standard input and output, on machines where the
 * command line does not run: under an emulator, or on a board. It needs the library and standard
 * C. Linked with contained.c in place of loaded.c, it serves one model that it contains. */
#pragma once
#include "longwave/longwave.h"
#include "longwave/spotter.h"
#include "tools/runner/buffer.h"
#include "tools/runner/wire.h"

enum { most_streams = 64 };

typedef struct {
    lw_model *model;
    lw_runner *runner;
    lw_stream *streams[most_streams];
    lw_spotter *spotter;
} Server;

/* describe.c. Appends what wire.h calls the description. */
lw_status describe(const lw_model *model, Buffer *to);

/* loaded.c or contained.c: where the model and the memory of what uses it come from. `bytes` are
 * those of the message, a compiled file or the weights beside a library. `variant` may be NULL. */
lw_status open_bytes(const char *variant, const uint8_t *bytes, size_t n, lw_model **model);
void close_model(lw_model *model);
lw_status new_stream(const lw_model *model, const lw_stream_options *options, lw_stream **stream);
void end_stream(lw_stream *stream);
lw_status new_spotter(const lw_model *model, const lw_spotter_options *options, lw_spotter **spotter);
void end_spotter(lw_spotter *spotter);
lw_status verify_model(const lw_model *model, double *worst);
